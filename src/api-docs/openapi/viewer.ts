import { readFile } from "node:fs/promises";
import { SharedForms } from "../../calls/shared-forms.ts";
import type { Router } from "../../http/edge/router.ts";
import { nothingHere } from "../../http/errors/methods.ts";
import { htmlHeaders } from "../../http/replies/html-headers.ts";
import { Precompressed } from "../../http/replies/precompressed.ts";
import type { RequestContext } from "../../http/requests/context.ts";
import { splitTarget } from "../../transcoding/index.ts";

const assetsPath = "/docs/assets/";

/** The files that the page loads: Swagger UI from its package, and the lines that start it. */
const files = {
  style: { url: import.meta.resolve("swagger-ui-dist/swagger-ui.css"), extension: "css" },
  viewer: { url: import.meta.resolve("swagger-ui-dist/swagger-ui-bundle.js"), extension: "js" },
  start: { url: new URL("viewer/start.js", import.meta.url).href, extension: "js" },
  page: { url: new URL("viewer/page.css", import.meta.url).href, extension: "css" },
} as const;

const types = { css: "text/css; charset=utf-8", js: "text/javascript; charset=utf-8" };

/** Puts a page into the frame of the site. `head` and `main` are HTML. */
export type Frame = (page: { title: string; description: string; path: string; head: string; main: string }) => string;

/** The paths of the description. */
interface Documents {
  json: string;
  yaml: string;
}

interface Viewer {
  page: Precompressed;
  /** By the last part of their addresses, which holds a hash of the contents. */
  assets: Map<string, Precompressed>;
}

/** Adds `/docs`: the description in Swagger UI. The page loads nothing from other servers. */
export function addViewer(router: Router, documents: Documents, frame: Frame): void {
  // Few people open the page, so its files are read at the first request.
  const forms = new SharedForms();
  const load = () => forms.get("viewer", () => loadViewer(documents, frame));
  router.get("/docs", { serve: async (request) => (await load()).page.reply(request) });
  const serveAsset = async (request: RequestContext) => {
    const { path } = splitTarget(request.url);
    const asset = (await load()).assets.get(path.slice(assetsPath.length));
    if (asset === undefined) throw nothingHere(request.request.method, []);
    return asset.reply(request);
  };
  router.get(`${assetsPath}:name`, { serve: serveAsset });
}

async function loadViewer(documents: Documents, frame: Frame): Promise<Viewer> {
  const assets = new Map<string, Precompressed>();
  const names = {} as Record<keyof typeof files, string>;
  for (const [part, { url, extension }] of Object.entries(files) as [keyof typeof files, (typeof files)["style"]][]) {
    const asset = new Precompressed(await readFile(new URL(url)), {
      "content-type": types[extension],
      "cache-control": "public, max-age=31536000, immutable",
    });
    names[part] = `${part}-${asset.digest}.${extension}`;
    assets.set(names[part], asset);
  }
  return { page: new Precompressed(pageOf(names, documents, frame), pageHeaders), assets };
}

/** The style sheet of Swagger UI holds its icons as data URLs. */
const pageHeaders = {
  ...htmlHeaders,
  "content-security-policy": (htmlHeaders["content-security-policy"] as string).replace(
    "img-src 'self'",
    "img-src 'self' data:",
  ),
  "cache-control": "public, no-cache",
};

function pageOf(names: Record<keyof typeof files, string>, documents: Documents, frame: Frame): string {
  return frame({
    title: "The API · Stoa",
    description:
      "Every operation of the API of Stoa, with its parameters, responses and errors. You can try each here.",
    path: "/docs",
    head: `<link rel="stylesheet" href="${assetsPath}${names.style}">
<link rel="stylesheet" href="${assetsPath}${names.page}">
<script defer src="${assetsPath}${names.viewer}"></script>
<script defer src="${assetsPath}${names.start}"></script>`,
    main: `<noscript>
<h1>The API</h1>
<p>This page needs JavaScript to show the operations. Without it, read the <a href="/skill.md">guide for agents</a>, or the OpenAPI 3.1 description as <a href="${documents.json}">JSON</a> or <a href="${documents.yaml}">YAML</a>.</p>
</noscript>
<div id="viewer" data-document="${documents.json}"></div>`,
  });
}

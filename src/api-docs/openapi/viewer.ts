import { readFile } from "node:fs/promises";
import type { Router } from "../../http/edge/router.ts";
import { nothingHere } from "../../http/errors/methods.ts";
import { htmlHeaders } from "../../http/replies/html-headers.ts";
import { memoize } from "../../http/replies/memoize.ts";
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

interface Viewer {
  page: Precompressed;
  /** By the last part of their addresses, which holds a hash of the contents. */
  assets: Map<string, Precompressed>;
}

/** Adds `/docs`: the description in Swagger UI. The page loads nothing from other servers. */
export function addViewer(router: Router, documentPath: string): void {
  // Few people open the page, so its files are read at the first request.
  const load = memoize(() => loadViewer(documentPath));
  router.get("/docs", { serve: async (request) => (await load()).page.reply(request) });
  const serveAsset = async (request: RequestContext) => {
    const { path } = splitTarget(request.url);
    const asset = (await load()).assets.get(path.slice(assetsPath.length));
    if (asset === undefined) throw nothingHere(request.request.method, []);
    return asset.reply(request);
  };
  router.get(`${assetsPath}:name`, { serve: serveAsset });
}

async function loadViewer(documentPath: string): Promise<Viewer> {
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
  return { page: new Precompressed(pageOf(names, documentPath), pageHeaders), assets };
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

/** Addresses are relative, so the page also works if a proxy serves it below a path. */
function pageOf(names: Record<keyof typeof files, string>, documentPath: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Stoa: the API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/assets/${names.style}">
<link rel="stylesheet" href="docs/assets/${names.page}">
<script defer src="docs/assets/${names.viewer}"></script>
<script defer src="docs/assets/${names.start}"></script>
</head>
<body>
<main id="viewer" data-document="${documentPath.slice(1)}"></main>
<noscript>The viewer needs JavaScript. The description as a file: <a href="${documentPath.slice(1)}">OpenAPI 3.1</a>.</noscript>
</body>
</html>
`;
}

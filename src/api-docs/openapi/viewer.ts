import { readFile } from "node:fs/promises";
import type { FastifyInstance } from "fastify";
import { htmlHeaders } from "../../http/replies/html-headers.ts";
import { Precompressed } from "../../http/replies/precompressed.ts";
import { remembered } from "../../http/replies/remembered.ts";

/** What the page loads, in this order: Swagger UI as its package ships it, and the few lines that start it. */
const files = {
  style: { url: import.meta.resolve("swagger-ui-dist/swagger-ui.css"), extension: "css" },
  viewer: { url: import.meta.resolve("swagger-ui-dist/swagger-ui-bundle.js"), extension: "js" },
  start: { url: new URL("viewer/start.js", import.meta.url).href, extension: "js" },
  page: { url: new URL("viewer/page.css", import.meta.url).href, extension: "css" },
} as const;

const types = { css: "text/css; charset=utf-8", js: "text/javascript; charset=utf-8" };

interface Viewer {
  page: Precompressed;
  /** By the last part of their addresses, which hold a hash of what is there. */
  assets: Map<string, Precompressed>;
}

/** Adds `/docs`: the description in Swagger UI. Everything that it loads comes from here. */
export function addViewer(app: FastifyInstance, documentPath: string): void {
  // A page that few ever look at: it is read when the first one does.
  const load = remembered(() => loadViewer(documentPath));
  app.get("/docs", { compress: false }, async (request, reply) => (await load()).page.send(request, reply));
  app.get<{ Params: { name: string } }>("/docs/assets/:name", { compress: false }, async (request, reply) => {
    const asset = (await load()).assets.get(request.params.name);
    return asset === undefined ? reply.callNotFound() : asset.send(request, reply);
  });
}

async function loadViewer(documentPath: string): Promise<Viewer> {
  const assets = new Map<string, Precompressed>();
  const names = {} as Record<keyof typeof files, string>;
  for (const [part, { url, extension }] of Object.entries(files) as [keyof typeof files, (typeof files)["style"]][]) {
    const asset = new Precompressed(await readFile(new URL(url)), {
      "content-type": types[extension],
      "cache-control": "public, max-age=31536000, immutable",
      "x-content-type-options": "nosniff",
    });
    names[part] = `${part}-${asset.digest}.${extension}`;
    assets.set(names[part], asset);
  }
  return { page: new Precompressed(pageOf(names, documentPath), pageHeaders), assets };
}

/** Swagger UI has its icons as data in its style. */
const pageHeaders = {
  ...htmlHeaders,
  "content-security-policy": (htmlHeaders["content-security-policy"] as string).replace(
    "img-src 'self'",
    "img-src 'self' data:",
  ),
  "cache-control": "public, no-cache",
};

/** Addresses are relative, so that the page works behind a proxy that puts the service below a path. */
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
<noscript>The viewer needs JavaScript. The description itself: <a href="${documentPath.slice(1)}">OpenAPI 3.1</a>.</noscript>
</body>
</html>
`;
}

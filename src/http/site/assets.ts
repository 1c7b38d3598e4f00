import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { FastifyInstance } from "fastify";
import { publishModules } from "./browser-modules.ts";

/** Where the pages find what they load. */
export interface AssetLinks {
  style: string;
  icon: string;
  /** The script of a receipt's page. */
  receiptScript: string;
}

interface Asset {
  body: string;
  contentType: string;
}

const types = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

/**
 * Style, icon and scripts, read once, at addresses that hold a hash of what is there: they can be kept for ever.
 * @throws Error when one is missing: the service does not start then
 */
export class Assets {
  readonly links: AssetLinks;
  readonly #byPath = new Map<string, Asset>();
  readonly #icon: string;

  constructor() {
    const read = (name: string) => readFileSync(new URL(`assets/${name}`, import.meta.url), "utf8");
    this.#icon = read("favicon.svg");
    this.links = {
      style: this.#add("style", "css", read("style.css")),
      icon: this.#add("favicon", "svg", this.#icon),
      receiptScript: publishModules(new URL("../../browser/receipt-page.ts", import.meta.url), ({ name, code }) =>
        this.#add(name, "js", code),
      ),
    };
  }

  #add(name: string, type: keyof typeof types, body: string): string {
    const path = `/assets/${name}-${hash("sha256", body).slice(0, 16)}.${type}`;
    this.#byPath.set(path, { body, contentType: types[type] });
    return path;
  }

  addRoutes(app: FastifyInstance): void {
    for (const [path, { body, contentType }] of this.#byPath) {
      app.get(path, async (_request, reply) =>
        reply
          .header("content-type", contentType)
          .header("cache-control", "public, max-age=31536000, immutable")
          .header("x-content-type-options", "nosniff")
          .send(body),
      );
    }
    // Where browsers look that were not told.
    app.get("/favicon.svg", async (_request, reply) =>
      reply.header("content-type", types.svg).header("cache-control", "public, max-age=86400").send(this.#icon),
    );
    app.get("/favicon.ico", async (_request, reply) =>
      reply.header("cache-control", "public, max-age=86400").redirect("/favicon.svg", 302),
    );
    app.get("/robots.txt", async (_request, reply) =>
      reply
        .header("content-type", "text/plain; charset=utf-8")
        .header("cache-control", "public, max-age=86400")
        .send("User-agent: *\nDisallow: /house/verify\n"),
    );
  }
}

import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Router } from "../http/edge/router.ts";
import { Precompressed } from "../http/replies/precompressed.ts";
import { publishModules } from "./browser-modules.ts";

/** The addresses of what pages load. */
export interface AssetLinks {
  style: string;
  icon: string;
  /** The modules of a receipt's page. The last one is the page's own script, which imports the others. */
  receiptModules: string[];
  /** The same for the page of a log entry. */
  logModules: string[];
}

const types = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
  txt: "text/plain; charset=utf-8",
};

/** The parts of the style sheet. Later rules override earlier ones. */
const styleSheets = [
  "base",
  "frame",
  "feed",
  "post",
  "profiles",
  "ledger",
  "verification",
  "moderation",
  "search",
  "adaptations",
];

const receiptPage = new URL("../browser/receipt-page.ts", import.meta.url);
const logEntryPage = new URL("../browser/log-entry-page.ts", import.meta.url);
const robots = "User-agent: *\nDisallow: /house/verify\n";

/** Keeps the scripts without their types, for this process and its next start; see `stripTypes`. */
export function keepScripts(): void {
  for (const page of [receiptPage, logEntryPage]) publishModules(page, ({ name }) => name);
}

/**
 * Style sheet, icons and scripts. They are read once. Their addresses hold a hash of their contents, so browsers may cache
 * them for ever.
 * @throws Error when a file is missing: the service does not start then
 */
export class Assets {
  readonly links: AssetLinks;
  readonly #byPath = new Map<string, Precompressed>();

  constructor() {
    const read = (name: string) => readFileSync(new URL(`assets/${name}`, import.meta.url), "utf8");
    const icon = read("favicon.svg");
    const publish = (page: URL): string[] => {
      const modules: string[] = [];
      publishModules(page, ({ name, code }) => {
        const path = this.#addImmutable(name, "js", code);
        modules.push(path);
        // Other modules import it from the same folder.
        return `./${path.split("/").at(-1)}`;
      });
      return modules;
    };
    this.links = {
      style: this.#addImmutable("style", "css", styleSheets.map((name) => read(`style/${name}.css`)).join("\n")),
      icon: this.#addImmutable("favicon", "svg", icon),
      receiptModules: publish(receiptPage),
      logModules: publish(logEntryPage),
    };
    // Browsers and robots request these paths by default.
    this.#add("/favicon.svg", "svg", icon, "public, max-age=86400");
    this.#add("/favicon.ico", "svg", icon, "public, max-age=86400");
    this.#add("/robots.txt", "txt", robots, "public, max-age=86400");
  }

  #addImmutable(name: string, type: keyof typeof types, body: string): string {
    const path = `/assets/${name}-${hash("sha256", body).slice(0, 16)}.${type}`;
    this.#add(path, type, body, "public, max-age=31536000, immutable");
    return path;
  }

  #add(path: string, type: keyof typeof types, body: string, cacheControl: string): void {
    const headers = { "content-type": types[type], "cache-control": cacheControl };
    this.#byPath.set(path, new Precompressed(body, headers));
  }

  addRoutes(router: Router): void {
    // A page loads a dozen of them, and they come from memory. They do not count towards rate limits.
    for (const [path, asset] of this.#byPath)
      router.get(path, { limits: "none", serve: (request) => asset.reply(request) });
  }
}

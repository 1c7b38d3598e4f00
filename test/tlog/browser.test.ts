// The library in a browser, with WebCrypto, says the same of the vectors.
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { publishModules } from "../../src/site/browser-modules.ts";
import { openPage, startBrowser } from "../support/browser.ts";
import { serveHttp } from "../support/http-server.ts";
import type { LogVector } from "./vector.ts";

const folder = new URL("../vectors/log/", import.meta.url);
const vectors = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".json"))
  .map((path) => ({ path, vector: JSON.parse(readFileSync(new URL(path, folder), "utf8")) as LogVector }))
  // Browsers read logs. To append, one needs a hash that is no promise.
  .filter(({ vector }) => vector.check !== "root");

/** Serves the modules that check a vector. @returns the address of the page, and the path of the module there */
async function serveModules(): Promise<{ url: string; module: string }> {
  const modules = new Map<string, string>();
  const module = publishModules(new URL("web-functions.ts", import.meta.url), ({ name, code }) => {
    const path = `/${modules.size}-${name}.js`;
    modules.set(path, code);
    return path;
  });
  const { url } = await serveHttp((request, response) => {
    const code = modules.get(request.url ?? "");
    if (code === undefined)
      response.setHeader("content-type", "text/html").end("<!doctype html><link rel=icon href=data:,>");
    else response.setHeader("content-type", "text/javascript").end(code);
  });
  return { url, module };
}

it("all vectors but those of roots", async () => {
  const { url, module } = await serveModules();
  const { page, faults } = await openPage(await startBrowser());
  await page.goto(url);
  await page.addScriptTag({
    type: "module",
    content: `import * as checks from "${module}"; globalThis.checks = checks;`,
  });
  await page.waitForFunction("globalThis.checks !== undefined");
  const outcomes = await page.evaluate(
    (vectors) => (globalThis as unknown as { checks: typeof import("./web-functions.ts") }).checks.checkAll(vectors),
    vectors.map(({ vector }) => vector),
  );
  expect(faults).toEqual([]);
  expect(vectors.map(({ path }, at) => [path, outcomes[at]])).toEqual(
    vectors.map(({ path, vector }) => [path, vector.expect]),
  );
});

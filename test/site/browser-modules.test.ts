import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { type BrowserModule, publishModules } from "../../src/site/browser-modules.ts";

const root = new URL("../../src/", import.meta.url);
const folder = mkdtempSync(join(tmpdir(), "stoa-modules-"));
afterAll(() => rmSync(folder, { recursive: true }));

function publish(file: URL): BrowserModule[] {
  const published: BrowserModule[] = [];
  publishModules(file, (module) => {
    published.push(module);
    return `/published/${published.length}.js`;
  });
  return published;
}

function write(files: Record<string, string>): URL {
  for (const [name, code] of Object.entries(files)) writeFileSync(join(folder, name), code);
  return pathToFileURL(join(folder, Object.keys(files)[0] as string));
}

describe("the modules of a receipt's page", () => {
  const modules = publish(new URL("browser/receipt-page.ts", root));

  it("are the source files of the receipt format, except for types and addresses", () => {
    const files = modules.map(({ file }) => file.href.replace(root.href, ""));
    for (const name of readdirSync(new URL("receipt/", root))) {
      // What remembers a head in a file is for the service and the command line, not for a page.
      if (name.endsWith(".ts") && name !== "head-text.ts") expect(files).toContain(`receipt/${name}`);
    }
    const withoutAddresses = (code: string) => code.replace(/ "[^"]*(?:\.ts|\.js)";$/gm, "");
    for (const { file, code } of modules) {
      expect(withoutAddresses(code)).toBe(withoutAddresses(stripTypeScriptTypes(readFileSync(file, "utf8"))));
      for (const [, address] of code.matchAll(/^import [^"]*"([^"]*)";$/gm))
        expect(address).toMatch(/^\/published\/\d+\.js$/);
    }
  });

  it("are published after their imports, so that an address can hold a hash of all imports", () => {
    modules.forEach(({ code }, index) => {
      for (const [, number] of code.matchAll(/"\/published\/(\d+)\.js"/g))
        expect(Number(number)).toBeLessThanOrEqual(index);
    });
  });
});

it("modules that a browser cannot load are refused", () => {
  expect(() => publish(write({ "a.ts": 'import { hash } from "node:crypto";\nhash;' }))).toThrow(/imports node:crypto/);
  expect(() => publish(write({ "b.ts": 'import "./c.ts";', "c.ts": 'import "fastify";' }))).toThrow(/imports fastify/);
  expect(() => publish(write({ "d.ts": 'import "./e.ts";', "e.ts": 'export * from "./d.ts";' }))).toThrow(
    /imports itself/,
  );
  expect(() => publish(write({ "f.ts": 'import "./none.ts";' }))).toThrow(/ENOENT/);
  expect(publish(write({ "g.ts": 'import type { X } from "node:net";\nexport const x: X = 1;' }))).toHaveLength(1);
});

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { stripTypes } from "../../src/site/strip-types.ts";

const parent = mkdtempSync(join(tmpdir(), "stoa-types-"));
afterAll(() => rmSync(parent, { recursive: true }));
const code = "export const one: number = 1;\n";
const stripped = "export const one         = 1;\n";

describe("code without its types", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(parent, "kept-"));
  });

  it("is the same whether it is kept or not", () => {
    expect(stripTypes(code)).toBe(stripped);
    expect(stripTypes(code, folder)).toBe(stripped);
    expect(stripTypes(code, folder)).toBe(stripped);
  });

  it("is stripped once, and read after that", () => {
    stripTypes(code, join(folder, "new"));
    const [name = "", ...others] = readdirSync(join(folder, "new"));
    expect(others).toEqual([]);
    expect(readFileSync(join(folder, "new", name), "utf8")).toBe(stripped);
    writeFileSync(join(folder, "new", name), "kept");
    expect(stripTypes(code, join(folder, "new"))).toBe("kept");
  });

  it("is stripped anew once the code has changed", () => {
    stripTypes(code, folder);
    expect(stripTypes(code.replace("one", "two"), folder)).toBe(stripped.replace("one", "two"));
    expect(readdirSync(folder)).toHaveLength(2);
  });

  it("is not kept where nothing can be written", () => {
    const file = join(folder, "a file");
    writeFileSync(file, "");
    expect(stripTypes(code, file)).toBe(stripped);
    expect(readFileSync(file, "utf8")).toBe("");
  });
});

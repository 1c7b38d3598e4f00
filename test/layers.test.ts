import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { scratchFolder } from "./support/scratch-folder.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Files of src/, and what they must not import: one of each kind of rule. A name twice would not be told apart. */
const refused = [
  // Packages and modules of Node, in what runs in browsers; also below a folder.
  ["receipt/deeper/new-1.ts", "node:crypto"],
  ["tlog/notes/new-2.ts", "pino"],
  ["browser/new-3.ts", "node:fs"],
  ["client/new-4.ts", "node:fs"],
  // Another layer.
  ["receipt/new-5.ts", "../errors.ts"],
  ["board/new-6.ts", "../http/server.ts"],
  ["store/tables/new-7.ts", "../../board/posts.ts"],
  ["operator/new-8.ts", "../services/table.ts"],
  ["main.ts", "./store/database/database.ts"],
  // A package that is for another layer.
  ["board/recount/new-9.ts", "mysql2"],
] as const;
/** The same for what they may import. */
const allowed = [
  ["receipt/deeper/new-10.ts", "../verify.ts"],
  ["tlog/entries/new-11.ts", "../../receipt/canonical.ts"],
  ["rate-limits/new-12.ts", "lru-cache"],
  ["operator/new-13.ts", "../cli/main.ts"],
] as const;

/** Lints a folder with the project's settings, in which each file has one import. @returns the files that are refused */
function lint(imports: readonly (readonly [file: string, specifier: string])[]): string[] {
  const folder = scratchFolder();
  for (const name of ["biome.json", "scripts/biome.layers.json"]) cpSync(join(root, name), join(folder, name));
  for (const [file, specifier] of imports) {
    mkdirSync(dirname(join(folder, "src", file)), { recursive: true });
    writeFileSync(join(folder, "src", file), `export * from "${specifier}";\n`);
  }
  const args = ["lint", "--vcs-enabled=false", "--colors=off", "--max-diagnostics=none", "src"];
  const { stdout, stderr } = spawnSync(join(root, "node_modules/.bin/biome"), args, { cwd: folder, encoding: "utf8" });
  const diagnostics = (stdout + stderr).matchAll(/^src\/(\S+):\d+:\d+ lint\/style\/noRestrictedImports/gm);
  return [...new Set([...diagnostics].map(([, file]) => file as string))].sort();
}

it("the lint rules refuse imports that the layers do not allow, and no others", () => {
  expect(lint([...refused, ...allowed])).toEqual(refused.map(([file]) => file).sort());
});

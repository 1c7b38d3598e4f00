import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { scratchFolder } from "./support/scratch-folder.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Files of src/, and what they must not import. */
const refused = [
  ["receipt/new-1.ts", "node:crypto"],
  ["receipt/deeper/new-2.ts", "pino"],
  ["receipt/new-3.ts", "../errors.ts"],
  ["tlog/notes/new-22.ts", "node:crypto"],
  ["tlog/new-23.ts", "../ledger/sha256.ts"],
  ["browser/new-4.ts", "pino"],
  ["client/new-5.ts", "node:fs"],
  ["rate-limits/new-6.ts", "pino"],
  ["timing/new-7.ts", "node:net"],
  ["timing/new-22.ts", "lru-cache"],
  ["board/new-8.ts", "../http/server.ts"],
  ["board/recount/new-9.ts", "mysql2"],
  ["transcoding/new-10.ts", "fastify"],
  ["store/tables/new-11.ts", "../../board/posts.ts"],
  ["http/rest/new-12.ts", "../rpc/routes.ts"],
  ["http/errors/new-13.ts", "../../site/site.ts"],
  ["site/views/new-14.ts", "../../http/admission/admission.ts"],
  ["operator/new-15.ts", "../services/table.ts"],
  ["main.ts", "./store/database/database.ts"],
] as const;
/** The same for what they may import. */
const allowed = [
  ["receipt/deeper/new-16.ts", "../verify.ts"],
  ["client/new-17.ts", "../receipt/verify.ts"],
  ["tlog/entries/new-24.ts", "../../receipt/canonical.ts"],
  ["board/new-25.ts", "../tlog/entries/entry-text.ts"],
  ["rate-limits/new-18.ts", "../timing/wait.ts"],
  ["rate-limits/new-23.ts", "lru-cache"],
  ["grpc-services/new-19.ts", "../../gen/grpc/health/v1/health_pb.js"],
  ["http/rest/new-20.ts", "../replies/reply.ts"],
  ["operator/new-21.ts", "../cli/main.ts"],
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

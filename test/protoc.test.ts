// The contract compiles with plain protoc, even that of Debian 12, for users who generate clients without buf.
import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { scratchFolder } from "./support/scratch-folder.ts";

const root = join(import.meta.dirname, "..");
/** The files of Google that ours import and that protoc does not bring. */
const google = ["annotations", "http", "httpbody"].map((name) => `google/api/${name}.proto`);

it("makes code for other languages of all files together, with the import paths that docs/api.md names", async () => {
  const files = [...globSync("**/*.proto", { cwd: join(root, "proto") }), ...google];
  const folder = scratchFolder();
  const outputs = ["python", "cpp", "java"].map((language) => `--${language}_out=${folder}`);
  const args = ["-I", "proto", "-I", "node_modules/google-proto-files", ...outputs, ...files];
  const { stderr } = await promisify(execFile)("protoc", args, { cwd: root });
  expect(stderr).toBe("");
});

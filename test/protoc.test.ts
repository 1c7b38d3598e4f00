// The contract compiles with plain protoc, even that of Debian 12, for users who generate clients without buf.
import { execFile } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { beforeAll, expect, it } from "vitest";
import { afterFile } from "./support/after-file.ts";

const root = join(import.meta.dirname, "..");
const files = globSync("**/*.proto", { cwd: join(root, "proto") }).sort();
/** The files of Google that ours import and that protoc does not bring. */
const google = ["annotations", "http", "httpbody"].map((name) => `google/api/${name}.proto`);
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "stoa-protoc-"));
  afterFile(() => rmSync(folder, { recursive: true }));
});

/** Runs protoc with the import paths that docs/api.md names. @throws Error for a failure or a warning */
async function protoc(...args: string[]): Promise<void> {
  const paths = ["-I", "proto", "-I", "node_modules/google-proto-files"];
  const { stderr } = await promisify(execFile)("protoc", [...paths, ...args], { cwd: root });
  if (stderr !== "") throw new Error(stderr);
}

it("all files compile together, with their imports", async () => {
  const output = join(folder, "descriptors");
  await protoc("--include_imports", "-o", output, ...files);
  const names = fromBinary(FileDescriptorSetSchema, readFileSync(output)).file.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining([...files, ...google]));
});

it("makes code for other languages", async () => {
  await protoc(...["python", "cpp", "java"].map((language) => `--${language}_out=${folder}`), ...files, ...google);
});

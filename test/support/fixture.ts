import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  createFileRegistry,
  type DescMessage,
  type DescService,
  type FileRegistry,
  fromBinary,
} from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { type Binding, bindingsOf } from "../../src/contract/bindings.ts";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");

/** Names a file with the built fixture. Somebody who loads this module a thousand times builds it once. */
const builtFile = process.env.STOA_TEST_FIXTURE;

/** Builds the contract of fixture.proto by buf, beside our own (0.1 s). There is no generated code. */
export function buildFixture(): Buffer {
  const workspace = mkdtempSync(join(tmpdir(), "stoa-fixture-"));
  try {
    mkdirSync(join(workspace, "fixture"));
    copyFileSync(join(root, "test/support/fixture.proto"), join(workspace, "fixture/fixture.proto"));
    for (const name of ["proto", "node_modules"]) symlinkSync(join(root, name), join(workspace, name));
    const modules = readFileSync(join(root, "buf.yaml"), "utf8");
    writeFileSync(join(workspace, "buf.yaml"), modules.replace("modules:\n", "modules:\n  - path: fixture\n"));
    return execFileSync(join(root, "node_modules/.bin/buf"), ["build", "fixture", "-o", "-"], {
      cwd: workspace,
      maxBuffer: 64 * 1024 * 1024,
    });
  } finally {
    rmSync(workspace, { recursive: true });
  }
}

const built = builtFile === undefined ? buildFixture() : readFileSync(builtFile);
const registry: FileRegistry = createFileRegistry(fromBinary(FileDescriptorSetSchema, built));

/** A message of the fixture by its name. */
export function fixtureMessage(name: string): DescMessage {
  const desc = registry.getMessage(`fixture.v1.${name}`);
  if (desc === undefined) throw new Error(`the fixture has no message ${name}`);
  return desc;
}

export const EchoService: DescService = registry.getService("fixture.v1.EchoService") as DescService;
export const BrokenService: DescService = registry.getService("fixture.v1.BrokenService") as DescService;

/** A binding of the fixture's EchoService. */
export function fixtureBinding(httpMethod: string, template: string): Binding {
  const found = echoBindings.find((each) => each.httpMethod === httpMethod && each.template === template);
  if (found === undefined) throw new Error(`The fixture has no ${httpMethod} ${template}.`);
  return found;
}

const echoBindings = bindingsOf(EchoService);

// Runs every check except the tests: format, lint with the layer rules, types, the contract's lint, its compatibility with
// the recorded baseline, whether gen/ is up to date with the contract, and the API description.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describeApi, sitePlaceholder } from "../src/api-docs/openapi/document.ts";
import { contractServices } from "./lib/contract.ts";
import { layerSettings } from "./lib/layers.ts";
import { serviceConfig } from "./lib/service-config.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const bin = join(root, "node_modules", ".bin");
const scratch = mkdtempSync(join(tmpdir(), "stoa-check-"));

function run(title: string, command: string, ...args: string[]): void {
  process.stdout.write(`${title}\n`);
  execFileSync(command, args, { cwd: root, stdio: "inherit" });
}

/** `buf breaking` compares two folders: the contract at the baseline commit and the current one. */
function checkCompatibility(): void {
  const baseline = readFileSync(join(root, "proto/baseline"), "utf8").trim();
  const folder = join(scratch, "baseline");
  mkdirSync(folder);
  const archive = execFileSync("git", ["archive", baseline, "proto", "buf.yaml"], { cwd: root });
  writeFileSync(join(scratch, "baseline.tar"), archive);
  execFileSync("tar", ["-xf", join(scratch, "baseline.tar"), "-C", folder]);
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  run(`the contract's compatibility with ${baseline.slice(0, 12)}`, join(bin, "buf"), "breaking", "--against", folder);
}

function checkLayers(): void {
  process.stdout.write("the lint rules of the layers\n");
  if (readFileSync(join(root, "scripts/biome.layers.json"), "utf8") === layerSettings()) return;
  throw new Error("scripts/biome.layers.json differs from scripts/lib/layers.ts; run: npm run generate");
}

async function checkServiceConfig(): Promise<void> {
  process.stdout.write("the service config of gRPC\n");
  if (readFileSync(join(root, "proto/stoa/v1/grpc_service_config.json"), "utf8") === (await serviceConfig())) return;
  throw new Error("proto/stoa/v1/grpc_service_config.json differs from the contract; run: npm run generate");
}

function checkGenerated(): void {
  run("generated code", join(bin, "buf"), "generate", "-o", join(scratch, "gen-new"));
  execFileSync("diff", ["-r", join(scratch, "gen-new", "gen"), join(root, "gen")], { stdio: "inherit" });
}

/** Checks /api/v1/openapi.json by Redocly's recommended rules, except for the licence, which the project does not name. */
async function checkDescription(): Promise<void> {
  const file = join(scratch, "openapi.json");
  const site = "https://stoa.test";
  writeFileSync(file, JSON.stringify(describeApi(await contractServices())).replaceAll(sitePlaceholder, site));
  const rules = ["--extends=recommended", "--skip-rule=info-license"];
  // Without these variables Redocly checks its registry for a newer version and reports its use.
  const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
  process.stdout.write("the API description\n");
  const { status, stdout, stderr } = spawnSync(join(bin, "redocly"), ["lint", ...rules, "--format=json", file], {
    env,
  });
  const { errors, warnings } = JSON.parse(stdout.toString("utf8") || "{}").totals ?? {};
  if (status !== 0 || errors !== 0 || warnings !== 0) throw new Error(`${stdout}\n${stderr}`);
}

try {
  checkLayers();
  run("format and lint", join(bin, "biome"), "ci", "--colors=off", "--error-on-warnings", ".");
  run("types", join(bin, "tsc"), "-p", ".");
  run("types of what runs in browsers", join(bin, "tsc"), "-p", "src/browser");
  run("the contract's format", join(bin, "buf"), "format", "--diff", "--exit-code", "proto");
  run("the contract's lint", join(bin, "buf"), "lint");
  checkCompatibility();
  checkGenerated();
  await checkServiceConfig();
  await checkDescription();
  process.stdout.write("all checks passed\n");
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

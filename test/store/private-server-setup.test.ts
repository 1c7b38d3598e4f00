// scripts/setup.mjs, as npm calls it, in a copy of what it reads; and what it decides about the server.
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { findServer } from "../../src/store/private-server/find.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
// Plain JavaScript without declarations: imported by a computed name, it is `any`.
const server = await import(join(root, "scripts/lib/server.mjs"));

let copy: string;

// A project that depends on one package, the runtime, and has it installed as npm would have.
beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), "stoa-setup-"));
  for (const part of ["scripts", "src/store/private-server"])
    cpSync(join(root, part), join(copy, part), { recursive: true });
  const version = process.versions.node;
  const packages = { "": {}, "node_modules/node": { version, integrity: "sha512-" } };
  writeJson("package.json", { dependencies: { node: version } });
  writeJson("package-lock.json", { packages });
  writeJson("node_modules/.package-lock.json", { packages: { "node_modules/node": packages["node_modules/node"] } });
  writeJson("node_modules/node/package.json", { version });
  mkdirSync(join(copy, "node_modules/.bin"));
  symlinkSync(process.execPath, join(copy, "node_modules/.bin/node"));
});

afterEach(() => rmSync(copy, { recursive: true, force: true }));

describe("setup.mjs", () => {
  test("where everything is right says nothing, takes no time and leaves no trace but its stamp", async () => {
    expect(await setUp().result).toEqual({ status: 0, said: "" });
    const stamp = readFileSync(join(copy, "node_modules/.stoa-setup"), "utf8");
    const begin = performance.now();
    expect(await setUp().result).toEqual({ status: 0, said: "" });
    expect(performance.now() - begin).toBeLessThan(1_000);
    expect(readFileSync(join(copy, "node_modules/.stoa-setup"), "utf8")).toBe(stamp);
    expect(existsSync(join(copy, ".stoa"))).toBe(false);
  });

  test.each([
    ["a package is missing", () => rmSync(join(copy, "node_modules/node"), { recursive: true })],
    ["the runtime is missing", () => rmSync(join(copy, "node_modules/.bin/node"))],
    ["nothing is installed", () => rmSync(join(copy, "node_modules"), { recursive: true })],
    [
      "the lock file has another version",
      () => writeJson("package-lock.json", { packages: { "node_modules/node": {} } }),
    ],
  ])("installs by npm ci when %s, and says in a few lines what npm failed of", async (_, spoil) => {
    await setUp().result;
    spoil();
    const { status, said } = await setUp(`console.error("npm was asked to", process.argv[2]); process.exit(3);`).result;
    expect(status).toBe(1);
    expect(said).toMatch(
      /^stoa set-up: installing the npm packages \(npm ci\)\nstoa set-up: .* failed \(exit code 3\)\n/,
    );
    expect(said.split("\n").slice(2)).toEqual(["  npm was asked to ci", ""]);
  });

  test("runs install scripts and takes the tools along, whatever the user has configured", async () => {
    rmSync(join(copy, "node_modules"), { recursive: true });
    const npm = `console.error(process.argv.includes("--include=dev"), process.argv.includes("--ignore-scripts=false"));
      console.error(process.env.npm_config_omit, process.env.npm_config_ignore_scripts); process.exit(1);`;
    const { said } = await setUp(npm, { npm_config_omit: "dev", npm_config_ignore_scripts: "true" }).result;
    expect(said).toContain("true true\n  undefined undefined");
  });

  test("waits for another set-up of the folder, then finds its work done", async () => {
    writeJson(".stoa/setup.lock", 1);
    const { child, result } = setUp();
    const [first] = await once(child.stderr, "data");
    expect(String(first)).toBe("stoa set-up: waiting for another set-up of this folder\n");
    rmSync(join(copy, ".stoa"), { recursive: true });
    expect((await result).status).toBe(0);
  });

  test("does not wait for a set-up that was killed", async () => {
    writeJson(".stoa/setup.lock", 1);
    utimesSync(join(copy, ".stoa/setup.lock"), 0, 0);
    expect(await setUp().result).toEqual({ status: 0, said: "" });
  });
});

describe("system packages", () => {
  let bin: string;
  let env: NodeJS.ProcessEnv;

  // A machine without a database server, and an apt-get that only writes down what it was asked for.
  beforeEach(() => {
    bin = join(copy, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "apt-get"), `#!/bin/sh\necho "$@" >> ${copy}/asked\n`, { mode: 0o755 });
    writeFileSync(join(copy, "src/store/private-server/find.mjs"), "export function findServer() {}\n");
    env = { PATH: `${bin}:/bin`, STOA_DATABASE_URL: "" };
  });
  const asked = () => (existsSync(join(copy, "asked")) ? readFileSync(join(copy, "asked"), "utf8") : "");

  test("are named before they are installed, by root", async () => {
    const { child, result } = setUp(undefined, env);
    const { status, said } = await result;
    expect(status).toBe(1);
    if (process.getuid?.() !== 0) {
      expect(asked()).toBe("");
      return;
    }
    expect(said.split("\n")[0]).toBe(
      "stoa set-up: no database server was found; installing by apt-get: mariadb-server-core, mariadb-client-core" +
        " (STOA_SETUP=never forbids this)",
    );
    expect(asked()).toContain("install --no-install-recommends --no-remove mariadb-server-core mariadb-client-core");
    expect(child.exitCode).toBe(1);
  });

  test.each(["start", "test"])(
    "are not installed for %s with STOA_SETUP=never, and the command is shown",
    async (purpose) => {
      const { status, said } = await setUp(undefined, { ...env, STOA_SETUP: "never" }, purpose).result;
      expect(status).toBe(1);
      expect(said).toContain("apt-get install --no-install-recommends mariadb-server-core mariadb-client-core");
      expect(said).not.toContain("installing");
      expect(asked()).toBe("");
    },
  );

  test("for the tests are not installed with STOA_SETUP=never either", async () => {
    cpSync(join(root, "src/store/private-server/find.mjs"), join(copy, "src/store/private-server/find.mjs"));
    const { status, said } = await setUp(undefined, { ...env, PATH: bin, STOA_SETUP: "never" }, "test").result;
    expect(status).toBe(1);
    expect(said).toContain("the tests need curl and jq");
    expect(said).toContain("sudo apt-get install --no-install-recommends curl jq");
    expect(asked()).toBe("");
  });

  test("are not left to chance: another value of STOA_SETUP is refused", async () => {
    const { status, said } = await setUp(undefined, { ...env, STOA_SETUP: "no" }).result;
    expect({ status, said }).toEqual({
      status: 1,
      said: 'stoa set-up: STOA_SETUP must be never or absent, not "no"\n',
    });
    expect(asked()).toBe("");
  });
});

/** Runs the script; `npm` is the program that stands in for npm. */
function setUp(npm = "process.exit(9)", env: NodeJS.ProcessEnv = {}, purpose = "start") {
  writeFileSync(join(copy, "npm-cli.js"), npm);
  const child = spawn(process.execPath, [join(copy, "scripts/setup.mjs"), purpose], {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env.PATH,
      STOA_DATABASE_URL: "mysql://elsewhere",
      npm_execpath: join(copy, "npm-cli.js"),
      npm_node_execpath: process.execPath,
      ...env,
    },
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (said += text));
  return { child, result: once(child, "close").then(([status]) => ({ status, said })) };
}

function writeJson(path: string, value: unknown): void {
  mkdirSync(dirname(join(copy, path)), { recursive: true });
  writeFileSync(join(copy, path), JSON.stringify(value));
}

describe("the server", () => {
  test.each([
    ["start", {}, true],
    ["start", { STOA_DATABASE_URL: "mysql://x" }, false],
    ["start", { STOA_TEST_DATABASE_URL: "mysql://x" }, true],
    ["test", {}, true],
    ["test", { STOA_TEST_DATABASE_URL: "mysql://x" }, true],
    ["test", { STOA_DATABASE_URL: "mysql://x" }, true],
  ])("for %s with %j is needed: %s", (purpose, env, needed) => {
    expect(server.needsServer(purpose, env)).toBe(needed);
  });

  const none = { found: false, root: true, platform: "linux", hasCommand: () => false, allowed: true };
  const has = (name: string) => (command: string) => command === name || `${name}-get` === command;

  test("that is there is left as it is", () => {
    expect(server.plan({ ...none, found: true })).toEqual({ action: "none" });
  });

  test("is installed by root on Debian", () => {
    expect(server.plan({ ...none, hasCommand: has("apt") })).toEqual({ action: "apt" });
  });

  test.each([
    ["Debian", { root: false, hasCommand: (name: string) => name.startsWith("apt") }, "run: sudo apt-get install"],
    ["Fedora", { hasCommand: has("dnf") }, "run: sudo dnf install mariadb-server"],
    ["Alpine", { hasCommand: has("apk") }, "run: sudo apk add mariadb"],
    ["macOS", { platform: "darwin" }, "run: brew install mariadb"],
    ["Debian, where installing is forbidden", { hasCommand: has("apt"), allowed: false }, "run: sudo apt-get install"],
    ["elsewhere", {}, "install one (Debian, Ubuntu: sudo apt-get"],
  ])("is asked for on %s in one command, or as an address", (_, machine, command) => {
    const { action, message } = server.plan({ ...none, ...machine });
    expect(action).toBe("tell");
    expect(message).toContain(command);
    expect(message).toContain("STOA_DATABASE_URL");
  });

  test("is not found where there is none", () => {
    expect(findServer(undefined, [copy])).toBeUndefined();
  });
});

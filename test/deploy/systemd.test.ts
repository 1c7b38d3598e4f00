// The units of systemd: whether systemd accepts them, and whether they run what npm start runs.
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { readConfig } from "../../src/config/config.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = scratchFolder();
const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0;
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** The last value of each setting of a unit. */
function settingsOf(unit: string): Record<string, string> {
  return Object.fromEntries([...unit.matchAll(/^([A-Za-z]+)=(.*)$/gm)].map(([, name, value]) => [name, value]));
}

/** What systemd has to say of units, of a template with the instance 8081. */
function complaints(...files: string[]): string[] {
  const paths = files.map((file) => {
    const unit = readFileSync(join(root, "deploy/systemd", file), "utf8");
    writeFileSync(join(folder, file), unit.replaceAll("/opt/stoa", root.replace(/\/$/, "")));
    return join(folder, file.replace("@.", "@8081."));
  });
  const { stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", ...paths], { encoding: "utf8" });
  return stderr.split("\n").filter((line) => files.some((file) => line.includes(file)));
}

/** How much a unit is exposed, of 10. */
function exposure(file: string): number {
  const report = execFileSync("systemd-analyze", ["security", "--offline=true", join(folder, file)], {
    encoding: "utf8",
  });
  return Number(/Overall exposure level for \S+: ([\d.]+)/.exec(report)?.[1]);
}

/** The variables that a unit sets, with the port 8081 for its instance. */
function variablesOf(unit: string): Record<string, string> {
  const lines = [...unit.matchAll(/^Environment=(.*)$/gm)].map(([, line]) => line as string);
  const words = lines.flatMap((line) => line.replaceAll("%i", "8081").split(" "));
  return Object.fromEntries(words.map((word) => word.split("=")));
}

describe.each([
  ["stoa.service", "stoa"],
  ["stoa@.service", "stoa/%i"],
])("%s", (file, stateDirectory) => {
  const unit = readFileSync(join(root, "deploy/systemd", file), "utf8");
  const settings = settingsOf(unit);

  it("is sandboxed, bounded in memory, and started again", () => {
    const sandbox = { User: "stoa", NoNewPrivileges: "yes", CapabilityBoundingSet: "", ProtectSystem: "strict" };
    const bounds = { MemoryMax: expect.stringMatching(/^\d+M$/), Restart: "always", StateDirectory: stateDirectory };
    expect(settings).toMatchObject({ ...sandbox, ...bounds });
  });

  it("runs what npm start runs", () => {
    const [, flags] = /exec node (.*)$/.exec(scripts.start) ?? [];
    expect(settings.ExecStart).toBe(`/opt/stoa/node_modules/.bin/node ${flags}`);
    const variables = variablesOf(unit);
    for (const [name, value] of Object.entries(variables).filter(([each]) => each.startsWith("MALLOC_"))) {
      expect(scripts.start).toContain(`${name}=${value}`);
    }
    const { warnings, dataDir } = readConfig(variables);
    expect(warnings).toEqual([]);
    expect(dataDir).toBe(`/var/lib/${stateDirectory.replace("%i", "8081")}`);
  });

  it.runIf(hasSystemd)("is accepted by systemd, which finds little that is exposed", () => {
    expect(complaints(file)).toEqual([]);
    expect(exposure(file)).toBeLessThan(2);
  });
});

describe("the units of fsck", () => {
  const service = readFileSync(join(root, "deploy/systemd/stoa-fsck.service"), "utf8");

  it("run what npm run stoa runs, with the account, the settings and the sandbox of the service", () => {
    const program = scripts.stoa.replace(/^node --disable-warning=ExperimentalWarning /, "");
    expect(service).toMatch(new RegExp(`^ExecStart=/opt/stoa/node_modules/.bin/node .* ${program} fsck$`, "m"));
    const same =
      /^(User|WorkingDirectory|StateDirectory.*|EnvironmentFile|No.*|Private.*|Protect.*|Restrict.*|Lock.*|System.*|Cap.*|UMask)=/;
    const linesOf = (unit: string) => unit.split("\n").filter((line) => same.test(line));
    const sandbox = linesOf(readFileSync(join(root, "deploy/systemd/stoa.service"), "utf8"));
    expect(sandbox.length).toBeGreaterThan(20);
    expect(linesOf(service)).toEqual(sandbox);
    expect(service).toMatch(/^Environment=STOA_DATA_DIR=\/var\/lib\/stoa MALLOC_/m);
  });

  it.runIf(hasSystemd)("are accepted by systemd, which finds little that is exposed", () => {
    expect(complaints("stoa-fsck.service", "stoa-fsck.timer")).toEqual([]);
    expect(exposure("stoa-fsck.service")).toBeLessThan(2);
  });
});

it("stoa.service allows more time for a stop than draining and the private database may take", () => {
  const { TimeoutStopSec } = settingsOf(readFileSync(join(root, "deploy/systemd/stoa.service"), "utf8"));
  expect(Number(TimeoutStopSec)).toBeGreaterThan(10 + 60);
});

describe("stoa@.service", () => {
  const unit = readFileSync(join(root, "deploy/systemd/stoa@.service"), "utf8");

  it("gives each replica ports of its own, time to be noticed, and time to stop", () => {
    const { port, metrics, trustProxy, stopDelayMs, drainTimeoutMs } = readConfig(variablesOf(unit));
    expect([port, metrics.port?.number, trustProxy]).toEqual([8081, 18081, ["127.0.0.1"]]);
    // The proxies ask /readyz each second.
    expect(stopDelayMs).toBeGreaterThan(2_000);
    const { TimeoutStopSec } = settingsOf(unit);
    expect(Number(TimeoutStopSec)).toBeGreaterThan((stopDelayMs + drainTimeoutMs) / 1000 + 10);
  });

  it("does not start without a database that the replicas share", () => {
    const [, script = ""] = /^ExecStartPre=\/bin\/sh -c '(.*)'$/m.exec(unit) ?? [];
    const run = (env: Record<string, string>) =>
      spawnSync("/bin/sh", ["-c", script.replaceAll("$$", "$")], { env, encoding: "utf8" });
    expect(run({})).toMatchObject({ status: 1, stderr: expect.stringContaining("set STOA_DATABASE_URL") });
    expect(run({ STOA_DATABASE_URL: "mysql://a/b" }).status).toBe(0);
    expect(run({ STOA_DATABASE_URL_FILE: "/run/url" }).status).toBe(0);
  });
});

// The systemd units: whether systemd accepts them, and whether they run what npm runs.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { blocksIn, readPage, root } from "./pages.ts";

const unit = blocksIn(readPage("docs/operating.md"), "ini").find((block) => block.startsWith("[Unit]")) as string;
const settings = [...unit.matchAll(/^([A-Za-z]+)=(.*)$/gm)].map(([, name, value]) => [name, value] as const);
const settingOf = (name: string) => settings.find(([each]) => each === name)?.[1];

const read = (path: string) => readFileSync(join(root, path), "utf8");
const folder = mkdtempSync(join(tmpdir(), "stoa-unit-"));
afterAll(() => rmSync(folder, { recursive: true }));
const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0;

describe("the unit", () => {
  it("is sandboxed, bounded in memory, and started again", () => {
    expect(Object.fromEntries(settings)).toMatchObject({
      User: "stoa",
      NoNewPrivileges: "yes",
      CapabilityBoundingSet: "",
      ProtectSystem: "strict",
      ProtectHome: "yes",
      PrivateTmp: "yes",
      MemoryMax: expect.stringMatching(/^\d+M$/),
      Restart: "always",
      StateDirectory: "stoa",
    });
    expect(unit).toMatch(/^\[Unit\]\n[^[]*\[Service\]\n[^[]*\[Install\]\n[^[]*$/);
    expect(new Set(settings.map(([name]) => name)).size).toBe(settings.length);
  });

  it("runs what npm start runs", () => {
    const { scripts } = JSON.parse(read("package.json"));
    const [, flags] = /exec node (.*)$/.exec(scripts.start) ?? [];
    expect(settingOf("ExecStart")).toBe(`/opt/stoa/node_modules/.bin/node ${flags}`);
  });

  it("allows more time for a stop than draining and the database may take", () => {
    expect(Number(settingOf("TimeoutStopSec"))).toBeGreaterThan(10 + 60);
  });

  it.runIf(hasSystemd)("is accepted by systemd, which finds little that is exposed", () => {
    expect(complaints({ "stoa.service": unit })).toEqual([]);
    expect(exposure("stoa.service")).toBeLessThan(2);
  });
});

describe("the units of fsck", () => {
  const service = read("deploy/systemd/stoa-fsck.service");
  const timer = read("deploy/systemd/stoa-fsck.timer");

  it("run what npm run stoa runs, with the account, the settings and the sandbox of the service", () => {
    const { scripts } = JSON.parse(read("package.json"));
    const program = scripts.stoa.replace(/^node --disable-warning=ExperimentalWarning /, "");
    expect(service).toMatch(new RegExp(`^ExecStart=/opt/stoa/node_modules/.bin/node .* ${program} fsck$`, "m"));
    const same =
      /^(User|WorkingDirectory|StateDirectory.*|EnvironmentFile|No.*|Private.*|Protect.*|Restrict.*|Lock.*|System.*|Cap.*|UMask)=/;
    const sandbox = unit.split("\n").filter((line) => same.test(line));
    expect(sandbox.length).toBeGreaterThan(20);
    expect(service.split("\n").filter((line) => same.test(line))).toEqual(sandbox);
    expect(service).toMatch(/^Environment=STOA_DATA_DIR=\/var\/lib\/stoa MALLOC_/m);
  });

  it.runIf(hasSystemd)("are accepted by systemd, which finds little that is exposed", () => {
    expect(complaints({ "stoa-fsck.service": service, "stoa-fsck.timer": timer })).toEqual([]);
    expect(exposure("stoa-fsck.service")).toBeLessThan(2);
  });
});

/** What systemd has to say of units. */
function complaints(units: Record<string, string>): string[] {
  const paths = Object.entries(units).map(([name, text]) => {
    const path = join(folder, name);
    writeFileSync(path, text.replaceAll("/opt/stoa", root.replace(/\/$/, "")));
    return path;
  });
  const { stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", ...paths], { encoding: "utf8" });
  return stderr.split("\n").filter((line) => Object.keys(units).some((name) => line.includes(name)));
}

/** How much a unit is exposed, of 10. */
function exposure(name: string): number {
  const args = ["security", "--offline=true", join(folder, name)];
  const report = execFileSync("systemd-analyze", args, { encoding: "utf8" });
  return Number(/Overall exposure level for \S+: ([\d.]+)/.exec(report)?.[1]);
}

// The systemd unit of docs/operating.md: whether systemd accepts it, and whether it runs what npm start runs.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { blocksIn, readPage, root } from "./pages.ts";

const unit = blocksIn(readPage("docs/operating.md"), "ini").find((block) => block.startsWith("[Unit]")) as string;
const settings = [...unit.matchAll(/^([A-Za-z]+)=(.*)$/gm)].map(([, name, value]) => [name, value] as const);
const settingOf = (name: string) => settings.find(([each]) => each === name)?.[1];

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
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const [, flags] = /exec node (.*)$/.exec(scripts.start) ?? [];
    expect(settingOf("ExecStart")).toBe(`/opt/stoa/node_modules/.bin/node ${flags}`);
  });

  it("allows more time for a stop than draining and the database may take", () => {
    expect(Number(settingOf("TimeoutStopSec"))).toBeGreaterThan(10 + 60);
  });

  it.runIf(hasSystemd)("is accepted by systemd, which finds little that is exposed", () => {
    const path = join(folder, "stoa.service");
    writeFileSync(path, unit.replaceAll("/opt/stoa", root.replace(/\/$/, "")));
    const verified = spawnSync("systemd-analyze", ["verify", "--man=no", path], { encoding: "utf8" });
    expect(verified.stderr.split("\n").filter((line) => line.includes("stoa.service"))).toEqual([]);
    const report = execFileSync("systemd-analyze", ["security", "--offline=true", path], { encoding: "utf8" });
    const [, exposure] = /Overall exposure level for stoa\.service: ([\d.]+)/.exec(report) ?? [];
    expect(Number(exposure)).toBeLessThan(2);
  });
});

// Services that run as processes on data folders of several owners.
import { chmodSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect } from "vitest";
import { ServiceProcess } from "../support/process.ts";

export const isRoot = process.getuid?.() === 0;
export let home: string;
export let dataDir: string;
let running: ServiceProcess | undefined;

export function newHome(): void {
  home = mkdtempSync(join(tmpdir(), "stoa-privileges-"));
  chmodSync(home, 0o755);
  dataDir = join(home, "data");
}
export async function endHome(): Promise<void> {
  await running?.end("SIGINT");
  running = undefined;
  rmSync(home, { recursive: true });
}

/** Adds the hooks of a test file whose tests have a home each. */
export function useHomes(): void {
  beforeEach(newHome);
  afterEach(endHome);
}

/** Starts a service without waiting for it. */
export function begin(settings: Record<string, string> = {}): ServiceProcess {
  running = new ServiceProcess({ STOA_DATA_DIR: dataDir, ...settings });
  return running;
}

export async function start(
  settings: Record<string, string> = {},
): Promise<{ service: ServiceProcess; url: string; database: number; socketPath: string }> {
  const service = begin(settings);
  const url = await service.url();
  const { pid, socketFolder } = recordedServer();
  return { service, url, database: pid, socketPath: join(socketFolder, "server.sock") };
}

export const recordedServer = (): { pid: number; socketFolder: string } =>
  JSON.parse(readFileSync(join(dataDir, "mysql.json"), "utf8"));

/** Returns the real, effective, saved and file system user ids of a process; see proc(5). */
export function usersOf(pid: number): number[] {
  const [, ids = ""] = /^Uid:\s+(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return ids.split(/\s+/).map(Number);
}

export function ownersIn(folder: string): Set<number> {
  // readdir follows symbolic links, and one test makes such a link.
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => !name.startsWith("away/"));
  return new Set(names.map((name) => lstatSync(join(folder, name)).uid));
}

/** Expects all user ids to be equal, and not to be root if the tests run as root. @returns the user id */
export function expectOneAccount(...owners: number[]): number {
  const [uid = 0, ...others] = new Set(owners);
  expect(others).toEqual([]);
  if (isRoot) expect(uid).not.toBe(0);
  else expect(uid).toBe(process.getuid?.());
  return uid;
}

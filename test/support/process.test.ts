import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { isRunning } from "./running.ts";
import { waitUntil } from "./wait.ts";

it("a service and its database end when the process of the test is killed", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "stoa-process-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const module = new URL("process.ts", import.meta.url).href;
  const script = `
    const { ServiceProcess } = await import(${JSON.stringify(module)});
    const service = new ServiceProcess({ STOA_DATA_DIR: ${JSON.stringify(dataDir)}, STOA_METRICS_PORT: "none" });
    await service.url();
    console.log(service.pid);`;
  const args = ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e", script];
  const parent = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void parent.kill("SIGKILL"));
  const [pid] = await once(parent.stdout.setEncoding("utf8"), "data");
  const database = JSON.parse(readFileSync(join(dataDir, "mysql.json"), "utf8")).pid;
  const processes = [Number(pid), Number(database)];
  expect(processes.filter(isRunning)).toHaveLength(2);
  parent.kill("SIGKILL");
  await waitUntil("the end of both", () => !processes.some(isRunning));
});

import { once } from "node:events";
import { chownSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ServiceProcess } from "../support/process.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { askRest } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

import { DataFolder, processesWith } from "./data-folder.ts";

/** A module that names the parts of Node that were loaded, when the process ends. */
const tellModules = `data:text/javascript,${encodeURIComponent(`
  process.once("exit", () => console.log("Modules: " + process.moduleLoadList.join(" ")));`)}`;

const folder = new DataFolder();
const start: DataFolder["start"] = (environment) => folder.start(environment);
let key: string;
const tokens = join(scratchFolder(), "tokens.json");

/** Writes the file of operators' tokens, and leaves it to the account of the data folder. */
function writeTokens(token: string): void {
  writeFileSync(tokens, JSON.stringify([{ name: "reader", token, rights: ["read reports"] }]), { mode: 0o600 });
  for (const path of [tokens, dirname(tokens)]) chownSync(path, statSync(folder.path).uid, statSync(folder.path).gid);
}

// The order counts: all starts use one folder.
it("a service starts on an empty folder, serves, and stops on Ctrl-C together with its database", async () => {
  const first = start();
  const url = await first.url();
  key = (await askRest(url, "agents/register", { body: { name: "Ada" } })).body.api_key;
  expect((await askRest(url, "posts", { key, body: { title: "Kept" } })).status).toBe(201);
  expect(processesWith(folder.path).length).toBeGreaterThan(0);
  first.signal("SIGINT");
  expect(await first.exited).toBe(0);
  expect(processesWith(folder.path)).toEqual([]);
  expect(first.output).not.toContain(key);
});

describe("a service that starts again", () => {
  let again: ServiceProcess;
  let second: ServiceProcess;
  let url: string;
  const another = createServer();
  beforeAll(async () => {
    // The default port of metrics. A service of another test may have it just now; a program that keeps it does as well.
    const takePort = async () => {
      await once(another.listen(9464, "127.0.0.1"), "listening").catch(() => {});
      return another.listening;
    };
    await waitUntil("the port", takePort, 20_000).catch(() => {});
    writeTokens("a".repeat(32));
    const given = { STOA_METRICS_PORT: undefined, STOA_PROT: "hunter2", STOA_OPERATOR_TOKENS_FILE: tokens };
    again = start({ NODE_OPTIONS: `--import=${tellModules}`, ...given });
    // The second one waits for a second before it is refused. Meanwhile the first one starts and is tested.
    await waitUntil("the lock", () => readFileSync(join(folder.path, "lock"), "utf8") === String(again.pid));
    second = start();
    url = await again.url();
  });
  afterAll(async () => {
    another.close();
    await folder.endAll();
  });

  it("has all its data, and creates, migrates and stops nothing", async () => {
    expect((await askRest(url, "agents/me", { key })).body.agent).toMatchObject({ name: "Ada", posts: 1 });
    expect(again.output).not.toMatch(/preparing a |migrating the database|stopping the database server/);
  });

  it("has named an unknown setting in its log, without its value", () => {
    expect(again.output).toContain("STOA_PROT is not a setting of Stoa and has no effect; did you mean STOA_PORT?");
    expect(again.output).not.toContain("hunter2");
  });

  it("says in plain words that it has no metrics, because another program has their port", () => {
    expect(again.output).toContain(
      "\nMetrics are off: port 9464 is in use. Set STOA_METRICS_PORT to another one, or to none.\n",
    );
  });

  it("reads its operators' tokens again on SIGHUP", async () => {
    const statusFor = async (letter: string) => {
      const headers = { authorization: `Bearer ${letter.repeat(32)}`, "content-type": "application/json" };
      const asked = { method: "POST", headers, body: "{}" };
      return (await fetch(`${url}/stoa.v1.ModerationService/ListReports`, asked)).status;
    };
    expect([await statusFor("a"), await statusFor("b")]).toEqual([200, 401]);
    writeTokens("b".repeat(32));
    again.signal("SIGHUP");
    await waitUntil("the new token", async () => (await statusFor("b")) === 200);
    expect(await statusFor("a")).toBe(401);
  });

  it("answers 503 while its database is down, and serves again when the database is back", async () => {
    const [database = 0] = folder.databases();
    process.kill(database, "SIGKILL");
    // Each response in between is a success or a 503.
    const statuses = new Set<number>();
    await waitUntil("a write to the new database", async () => {
      const { status, body } = await askRest(url, "posts", { key, body: { title: "Through the storm" } });
      statuses.add(status);
      if (status === 503) expect(body).toMatchObject({ ok: false, error: "unavailable", retry_after_seconds: 1 });
      return status === 201 && !folder.databases().includes(database);
    });
    expect([...statuses].filter((status) => status !== 201 && status !== 503)).toEqual([]);
    await waitUntil("readiness", async () => (await askRest(url, "/readyz")).status === 200);
  });

  it("refuses a second one on its folder with a clear message", async () => {
    expect(await second.exited).toBe(1);
    expect(second.output).toMatch(new RegExp(`in use by process ${again.pid}`));
    expect((await askRest(url, "/readyz")).status).toBe(200);
  });

  it("has not loaded the compiler of TypeScript, which takes memory and time", async () => {
    await again.end("SIGINT");
    expect(again.output).toContain("Modules: ");
    expect(again.output).not.toContain("internal/deps/amaro");
  });
});

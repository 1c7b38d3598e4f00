// How a service ends that is killed, and what it leaves.
import { afterEach, describe, expect, it } from "vitest";
import { askRest } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";
import { DataFolder, processesWith } from "./data-folder.ts";
import { fastTimersOfStop } from "./fast-timers.ts";

const folder = new DataFolder();
const start: DataFolder["start"] = (environment) => folder.start(environment);

describe("a service", () => {
  afterEach(() => folder.endAll());

  it("loses no data when it is killed, and the next start leaves one database running and ends with it", async () => {
    const killed = start();
    const first = await killed.url();
    const { api_key: key } = (await askRest(first, "agents/register", { body: { name: "Ada" } })).body;
    const posted = await askRest(first, "posts", { key, body: { title: "Acknowledged" } });
    killed.signal("SIGKILL");
    await killed.exited;
    const orphans = processesWith(folder.path);
    expect(orphans).toHaveLength(1);
    const next = start({ STOA_DRAIN_SECONDS: "1", NODE_OPTIONS: `--import=${fastTimersOfStop}` });
    const url = await next.url();
    expect((await askRest(url, `posts/${posted.body.post.id}`)).body.post.title).toBe("Acknowledged");
    expect(folder.databases()).toHaveLength(1);
    expect(folder.databases()).not.toEqual(orphans);
    // A database that does not answer delays the stop, but does not prevent it.
    for (const pid of folder.databases()) process.kill(pid, "SIGSTOP");
    next.signal("SIGTERM");
    expect(await next.exited).toBe(0);
    await waitUntil("the end of the database", () => folder.databases().length === 0);
  });
});

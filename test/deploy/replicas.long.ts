// npm run test:proxies: two replicas on one database behind each proxy, which are killed and restarted.
import { beforeAll, describe, expect, it } from "vitest";
import { proxyNames } from "./examples.ts";
import { Load } from "./load.ts";
import { Pair } from "./pair.ts";

const replicas = [0, 1] as const;

describe.each(proxyNames)("two replicas behind %s", (name) => {
  let pair: Pair;
  let key: string;
  beforeAll(async () => {
    pair = await Pair.start(name, { STOA_RATE_LIMITS: "off" });
    const { text } = await pair.ask("/api/v1/agents/register", { body: { name: "Writer" } });
    key = JSON.parse(text).api_key;
    const first = await pair.ask("/api/v1/posts", { key, body: { title: "the first" } });
    expect(JSON.parse(first.text).post.id).toBe(1);
  });
  const startLoad = (repeats: boolean) => new Load(pair, key, { repeats });

  it("lose no acknowledged write and fail no read when each is killed under load", async () => {
    const load = startLoad(true);
    for (const index of replicas) {
      await load.more(50);
      await pair.kill(index);
      await load.more(100);
      await pair.startAgain(index);
    }
    await load.more(50);
    const wrong = await load.stop();
    report(name, "killed", load);
    expect(wrong).toEqual([]);
  });

  it("lose no request at all when they are restarted in turn", async () => {
    const load = startLoad(false);
    for (const index of replicas) {
      await load.more(50);
      await pair.restart(index);
    }
    await load.more(50);
    const wrong = await load.stop();
    report(name, "restarted", load);
    expect(wrong, pair.site.output()).toEqual([]);
    expect(load.repeated).toBe(0);
    expect(load.calls).toBeGreaterThan(0);
  });
});

function report(name: string, what: string, { acknowledged, reads, calls, repeated, longestMs }: Load): void {
  const figures = `${acknowledged.size} writes, ${repeated} of them repeated, ${reads} reads, ${calls} calls, the longest ${longestMs.toFixed(0)} ms`;
  process.stdout.write(`${name}, ${what}: ${figures}\n`);
}

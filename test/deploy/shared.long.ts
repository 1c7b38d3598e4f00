// npm run test:proxies: what two replicas on one database share, seen through each proxy.
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { askRest } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";
import { proxyNames } from "./examples.ts";
import { Pair } from "./pair.ts";

const posts = 5;
/** How often something is tried until the proxy has divided it among both replicas. */
const maxTries = 50;

const isMore = (count: number, index: number, before: number[]) => count > (before[index] as number);

it.each(proxyNames)(
  "two replicas behind %s share limits, idempotency keys, and what they have acknowledged",
  async (name) => {
    const pair = await Pair.start(name, { STOA_LIMIT_POSTS: `${posts}/1h` });
    const latest = "/api/v1/posts?sort=new&limit=5";
    const total = () => pair.served("CreatePost").reduce((sum, each) => sum + each);
    for (let tries = 1, isDivided = false; !isDivided; tries++) {
      expect(tries, "the proxy never divided the calls").toBeLessThanOrEqual(maxTries);
      const [before, servedBefore] = [pair.served("CreatePost"), total()];
      const body = { name: `Agent-${tries}` };
      const key = JSON.parse((await pair.ask("/api/v1/agents/register", { body })).text).api_key;
      const post = (title: string, headers = {}) => pair.ask("/api/v1/posts", { key, body: { title }, headers });

      const id = randomUUID();
      const same = await Promise.all(Array.from({ length: 4 }, () => post(`By key ${id}`, { "idempotency-key": id })));
      expect(new Set(same.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
      expect(same.filter(({ headers }) => headers["idempotency-replayed"] === undefined)).toHaveLength(1);

      const titles = Array.from({ length: 4 * posts }, (_, n) => `Post ${n} of ${tries}`);
      const replies = await Promise.all(titles.map((title) => post(title)));
      const made = titles.filter((_, n) => replies[n]?.status === 201);
      expect(replies.filter(({ status }) => status === 429)).toHaveLength(titles.length - made.length);
      expect(made).toHaveLength(posts - 1);

      const reads = await Promise.all([
        ...Array.from({ length: 8 }, async () => JSON.parse((await pair.ask(latest)).text)),
        ...pair.urls.map(async (url) => (await askRest(url, latest)).body),
      ]);
      const shown = reads.map((page) => page.posts.map(({ title }: { title: string }) => title).sort());
      expect(shown).toEqual(reads.map(() => [`By key ${id}`, ...made].sort()));

      // The log of a replica comes after its replies.
      await waitUntil("the log", () => total() >= servedBefore + same.length + titles.length);
      isDivided = pair.served("CreatePost").every((count, index) => isMore(count, index, before));
    }
  },
);

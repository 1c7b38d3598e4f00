// npm run test:proxies: a follower of receipts through each proxy, before two replicas that are restarted.
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { createOperatorClient } from "../../src/client/operator.ts";
import { waitUntil } from "../support/wait.ts";
import { readLines } from "./client.ts";
import { proxyNames } from "./examples.ts";
import { Pair } from "./pair.ts";

const operatorToken = "proxies-operator-token-0123456789-abcdef";

describe.each(proxyNames)("two replicas behind %s", (name) => {
  let pair: Pair;
  beforeAll(async () => {
    pair = await Pair.start(name, { STOA_OPERATOR_TOKEN: operatorToken });
  });

  it("let a follower of receipts go on where it was when each is restarted, without a gap", async () => {
    const seal = (n: number) =>
      createOperatorClient(pair.urls[n % 2] as string, { operatorToken }).sealSession({
        book: `book-${n}`,
        session: "2020-01-02",
        note: "",
        source: "a test",
      });
    const follower = follow(pair);
    await seal(0);
    await waitUntil("the first receipts", () => follower.seen.length >= 2);
    for (const index of [0, 1]) {
      // The stream is on one of them: it ends with that one, and goes on at the other.
      const restarted = pair.restart(index);
      await seal(index === 0 ? 1 : 2);
      await restarted;
      await seal(index === 0 ? 3 : 4);
    }
    await waitUntil("all receipts", () => follower.seen.length >= 6);
    follower.stop();
    expect(follower.seen).toEqual([1, 2, 3, 4, 5, 6]);
    expect(follower.connections).toBeGreaterThan(1);
  });
});

/** Follows the receipts from the first on, as a verifier does: it comes again with the next seq when its stream has ended. */
function follow({ site }: Pair): { seen: number[]; connections: number; stop(): void } {
  const stopped = new AbortController();
  const follower = { seen: [] as number[], connections: 0, stop: () => stopped.abort() };
  const take = ({ seq }: { seq?: number }) => {
    if (seq !== undefined) follower.seen.push(seq);
  };
  const run = async () => {
    for (; !stopped.signal.aborted; await sleep(50)) {
      follower.connections += 1;
      const path = `/api/v1/house/receipts/stream?follow=true&from=${follower.seen.length + 1}`;
      await readLines(site, path, take, stopped.signal);
    }
  };
  void run();
  return follower;
}

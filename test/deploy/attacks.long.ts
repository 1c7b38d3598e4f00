// npm run test:proxies: attacks through the examples of deploy/, each with a neighbour who must be served.
import { beforeAll, describe, expect, it } from "vitest";
import { statusMiB } from "../support/status.ts";
import { attacks } from "./attacks/attacks.ts";
import { openOfOne } from "./attacks/connections.ts";
import { caddyIs, type ProxyName, proxyNames } from "./examples.ts";
import type { NeighbourReply } from "./neighbour.ts";
import { laySiege, type Siege } from "./siege.ts";

/** How long any request of the neighbour may take, in milliseconds. docs/operating.md promises it. */
const maxNeighbourMs = 1_000;
/** What a replica may hold at any time. */
const maxResidentMiB = 420;
/** How many connections an address may have, by HAProxy's configuration and by the rules of deploy/nftables. */
const maxConnectionsOfAddress = 256;

describe.each(proxyNames)("behind %s", (name) => {
  let siege: Siege;
  beforeAll(async () => {
    siege = await laySiege(name);
  });

  it.each(attacksOn(name))("a neighbour is served during %s", async (attack) => {
    const { replies, tally } = await siege.endure(attack);
    const { replicas, proxy } = siege;
    process.stdout.write(`${name}, ${attack}: ${figures(replies, siege)}; ${JSON.stringify(tally)}\n`);
    expect(proxy.hasExited(), proxy.output()).toBe(false);
    expect(replies.filter(({ status }) => status !== 200 && status !== 201)).toEqual([]);
    expect(replies.filter(({ ms }) => ms > maxNeighbourMs)).toEqual([]);
    // Those of HAProxy are closed after they were taken, and so a few more may be seen.
    if (openOfOne in tally) expect(tally[openOfOne]).toBeLessThan(1.1 * maxConnectionsOfAddress);
    for (const { pid, output } of replicas) {
      expect(statusMiB(pid, "VmHWM")).toBeLessThan(maxResidentMiB);
      expect(output.split("\n").filter((line) => /^\{"level":"(error|fatal)"|^\{"level":[56]0/.test(line))).toEqual([]);
    }
  });
});

/** Caddy before 2.7.5 is built with a Go that takes any number of rapid resets (CVE-2023-44487): docs/deploying.md says so. */
function attacksOn(name: ProxyName): string[] {
  const isOpen = name === "Caddy" && !caddyIs(2, 7, 5);
  return Object.keys(attacks).filter((attack) => !isOpen || attack !== "rapid resets over HTTP/2");
}

function figures(replies: readonly NeighbourReply[], { replicas, proxy }: Siege): string {
  const slowest = Math.max(...replies.map(({ ms }) => ms));
  const residents = replicas.map(({ pid }) => `${statusMiB(pid, "VmHWM").toFixed(0)} MiB`);
  const itself = `the proxy ${statusMiB(proxy.pid, "VmRSS").toFixed(0)} MiB`;
  return `${replies.length} replies, the slowest after ${slowest.toFixed(0)} ms; ${residents.join(", ")}; ${itself}`;
}

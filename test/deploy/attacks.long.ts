// npm run test:proxies: attacks through the examples of deploy/, each with a neighbour who must be served.
import { beforeAll, describe, expect, it } from "vitest";
import { describeAttack, expectServed } from "../support/attacked.ts";
import { statusMiB } from "../support/status.ts";
import { attacks } from "./attacks/attacks.ts";
import { openOfOne } from "./attacks/connections.ts";
import { caddyIs, type ProxyName, proxyNames } from "./examples.ts";
import { laySiege, type Siege } from "./siege.ts";

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
    const itself = `the proxy ${statusMiB(proxy.pid, "VmRSS").toFixed(0)} MiB`;
    const figures = `${describeAttack(replies, replicas)}; ${itself}; ${JSON.stringify(tally)}`;
    process.stdout.write(`${name}, ${attack}: ${figures}\n`);
    expect(proxy.hasExited(), proxy.output()).toBe(false);
    expectServed(replies, replicas);
    // Those of HAProxy are closed after they were taken, and so a few more may be seen.
    if (openOfOne in tally) expect(tally[openOfOne]).toBeLessThan(1.1 * maxConnectionsOfAddress);
  });
});

/** Caddy before 2.7.5 is built with a Go that takes any number of rapid resets (CVE-2023-44487): docs/deploying.md says so. */
function attacksOn(name: ProxyName): string[] {
  const isOpen = name === "Caddy" && !caddyIs(2, 7, 5);
  return Object.keys(attacks).filter((attack) => !isOpen || attack !== "rapid resets over HTTP/2");
}

import type { IncomingMessage } from "node:http";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ClientAddresses, countedAddress, truncatedAddress } from "../../../src/http/admission/client-address.ts";
import { runs } from "../properties/runs.ts";

/** A request over a connection from `peer`. */
function request(peer: string | undefined, forwarded?: string): IncomingMessage {
  return {
    socket: { remoteAddress: peer },
    headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded },
  } as unknown as IncomingMessage;
}

const client = (trusted: string[], peer: string | undefined, forwarded?: string) =>
  new ClientAddresses(trusted).locate(request(peer, forwarded)).counted;

describe("an address counts", () => {
  it.each([
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["::FFFF:c000:0201", "192.0.2.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:0DB8:0001:0002:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["::", "0:0:0:0::/64"],
    ["::192.0.2.1", "0:0:0:0::/64"],
    ["fe80::1%br-1.2", "fe80:0:0:0::/64"],
    ["10.1", "unknown"],
    ["", "unknown"],
    ["192.0.2.256", "unknown"],
  ])("%s as %s", (address, counted) => {
    expect(countedAddress(address)).toBe(counted);
  });

  it("together with all others in its network of 64 bits, but not with the next network", () => {
    const group = fc.integer({ min: 0, max: 0xffff }).map((value) => value.toString(16));
    const half = fc.tuple(group, group, group, group).map((groups) => groups.join(":"));
    fc.assert(
      fc.property(half, half, half, (network, a, b) => {
        expect(countedAddress(`${network}:${a}`)).toBe(countedAddress(`${network}:${b}`));
        const [first = "0", ...rest] = network.split(":");
        const next = [(Number.parseInt(first, 16) ^ 1).toString(16), ...rest].join(":");
        expect(countedAddress(`${next}:${a}`)).not.toBe(countedAddress(`${network}:${a}`));
      }),
      runs("counted", 100),
    );
  });
});

describe("X-Forwarded-For", () => {
  it("is not believed by default, nor of an untrusted peer", () => {
    expect(client([], "192.0.2.1", "203.0.113.9")).toBe("192.0.2.1");
    expect(client(["10.0.0.0/8"], "192.0.2.1", "203.0.113.9")).toBe("192.0.2.1");
  });

  it("is believed of a trusted peer", () => {
    for (const peer of ["10.1.2.3", "::ffff:10.1.2.3"])
      expect(client(["10.0.0.0/8"], peer, "203.0.113.9")).toBe("203.0.113.9");
  });

  it("is read from its end, up to the first untrusted address", () => {
    expect(client(["10.0.0.0/8"], "10.0.0.1", "198.51.100.1, 203.0.113.9, 10.0.0.2")).toBe("203.0.113.9");
    expect(client(["10.0.0.0/8"], "10.0.0.1", "10.0.0.9, 203.0.113.9")).toBe("203.0.113.9");
    // Of trusted addresses alone, the first is the client.
    expect(client(["loopback", "10.0.0.0/8"], "127.0.0.1", "10.0.0.3, 10.0.0.2")).toBe("10.0.0.3");
  });

  it.each([
    ["203.0.113.9:4711", "203.0.113.9"],
    ["[2001:db8::9]:4711", "2001:db8:0:0::/64"],
    ["2001:db8::9", "2001:db8:0:0::/64"],
    ["unknown", "10.0.0.1"],
    ["", "10.0.0.1"],
    ["203.0.113.9, garbage", "10.0.0.1"],
    ["garbage, 203.0.113.9", "203.0.113.9"],
  ])("%j counts as %s", (forwarded, counted) => {
    expect(client(["10.0.0.0/8"], "10.0.0.1", forwarded)).toBe(counted);
  });

  it.each([
    ["192.0.2.1", "192.0.2.1"],
    ["2001:db8::/32", "2001:db8:7::1"],
    ["::ffff:10.0.0.0/104", "10.9.9.9"],
    ["linklocal", "fe80::1%eth0"],
    ["uniquelocal", "fd00::1"],
    ["loopback", "::1"],
  ])("of %s trusts %s", (trusted, peer) => {
    expect(client([trusted], peer, "203.0.113.9")).toBe("203.0.113.9");
  });

  it("never lets a client choose its address", () => {
    const hops = fc.array(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string(), fc.constant("10.0.0.7")), { maxLength: 8 });
    const addresses = new ClientAddresses(["10.0.0.0/8"]);
    fc.assert(
      fc.property(hops, (written) => {
        const text = written.join(", ");
        expect(addresses.locate(request("192.0.2.1", text)).counted).toBe("192.0.2.1");
        expect(addresses.locate(request("10.0.0.1", `${text}, 192.0.2.1`)).counted).toBe("192.0.2.1");
      }),
      runs("forwarded", 100),
    );
  });
});

it("an untrusted peer that names its client is reported once", () => {
  const reported: string[] = [];
  const addresses = new ClientAddresses(["10.0.0.0/8"], (peer) => reported.push(peer));
  addresses.locate(request("192.0.2.1"));
  addresses.locate(request("10.0.0.1", "203.0.113.9"));
  expect(reported).toEqual([]);
  for (const peer of ["192.0.2.7", "192.0.2.8"]) addresses.locate(request(peer, "203.0.113.9"));
  expect(reported).toEqual(["192.0.2.7"]);
  const forwarded = { socket: { remoteAddress: "192.0.2.9" }, headers: { forwarded: "for=203.0.113.9" } };
  new ClientAddresses([], (peer) => reported.push(peer)).locate(forwarded as unknown as IncomingMessage);
  expect(reported).toEqual(["192.0.2.7", "192.0.2.9"]);
});

it.each([
  ["192.0.2.77", "192.0.2.0/24"],
  ["::ffff:192.0.2.77", "192.0.2.0/24"],
  ["2001:db8:1:2::7", "2001:db8:1::/48"],
  ["nobody", "unknown"],
])("%s is truncated to %s", (address, network) => {
  expect(truncatedAddress(address)).toBe(network);
});

it("all closed connections count as one unknown client", () => {
  expect(client([], undefined)).toBe("unknown");
  expect(client(["loopback"], undefined, "203.0.113.9")).toBe("unknown");
});

import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Config, readConfig } from "../../src/config/config.ts";

const mib = 1024 * 1024;
const gib = 1024 * mib;

/** Each setting that is an integer, its bounds, and what it becomes at its greatest. */
const integers: [name: string, min: number, max: number, greatest: unknown, read: (config: Config) => unknown][] = [
  ["STOA_PORT", 0, 65_535, 65_535, ({ port }) => port],
  ["STOA_METRICS_PORT", 0, 65_535, { number: 65_535, isDefault: false }, ({ metrics }) => metrics.port],
  ["STOA_DATABASE_CONNECTIONS", 4, 1000, 1000, ({ databaseConnections }) => databaseConnections],
  ["STOA_DATABASE_TIMEOUT_SECONDS", 1, 600, 600_000, ({ databaseTimeoutMs }) => databaseTimeoutMs],
  ["STOA_STOP_DELAY_SECONDS", 0, 3600, 3_600_000, ({ stopDelayMs }) => stopDelayMs],
  ["STOA_DRAIN_SECONDS", 0, 3600, 3_600_000, ({ drainTimeoutMs }) => drainTimeoutMs],
  ["STOA_SEND_TIMEOUT_SECONDS", 1, 3600, 3_600_000, ({ sendTimeoutMs }) => sendTimeoutMs],
  ["STOA_MAX_STREAM_SECONDS", 1, 86_400, 86_400_000, ({ streams }) => streams.maxMs],
  ["STOA_MAX_STREAMS", 1, 1_000_000, 1_000_000, ({ streams }) => streams.total],
  ["STOA_MAX_STREAMS_PER_CONNECTION", 1, 1_000_000, 1_000_000, ({ streams }) => streams.perConnection],
  ["STOA_MAX_STREAMS_PER_ADDRESS", 1, 1_000_000, 1_000_000, ({ streams }) => streams.perAddress],
  ["STOA_MAX_STREAMS_PER_AGENT", 1, 1_000_000, 1_000_000, ({ streams }) => streams.perAgent],
  ["STOA_MAX_CONNECTIONS", 1, 1_000_000, 1_000_000, ({ maxConnections }) => maxConnections],
  ["STOA_MAX_CONNECTIONS_PER_ADDRESS", 1, 1_000_000, 1_000_000, (config) => config.maxConnectionsPerAddress],
  ["STOA_MAX_UNSENT_BYTES_PER_CONNECTION", 8 * mib, gib, gib, (config) => config.maxUnsentBytesPerConnection],
  ["STOA_MAX_UNSENT_BYTES", 8 * mib, 16 * gib, 16 * gib, ({ maxUnsentBytes }) => maxUnsentBytes],
  ["STOA_MAX_HEAP_PERCENT", 0, 100, 1, ({ overload }) => overload.heapShare],
  ["STOA_MAX_RESIDENT_MIB", 0, 1_000_000, 1_000_000 * mib, ({ overload }) => overload.residentBytes],
];

describe("an integer setting", () => {
  it.each(integers)("%s accepts %i to %i, and no more", (name, min, max, greatest, read) => {
    expect(read(readConfig({ [name]: String(max) }))).toEqual(greatest);
    expect(() => readConfig({ [name]: String(min) })).not.toThrow();
    for (const text of [String(min - 1), String(max + 1), `${min}.0`, "1e1", "0x1", `+${min}`]) {
      expect(() => readConfig({ [name]: text }), text).toThrow(
        `${name} must be an integer from ${min} to ${max}, not ${JSON.stringify(text)}.`,
      );
    }
  });

  it("of 0 switches the bounds of memory off", () => {
    const { overload } = readConfig({ STOA_MAX_HEAP_PERCENT: "0", STOA_MAX_RESIDENT_MIB: "0" });
    expect(overload).toEqual({ heapShare: undefined, residentBytes: undefined });
  });

  it("with spaces or in quotes is refused, like any other setting", () => {
    expect(() => readConfig({ STOA_PORT: " 80" })).toThrow("STOA_PORT begins or ends with a space or a line break");
    expect(() => readConfig({ STOA_DATA_DIR: '"/var/lib/stoa"' })).toThrow("STOA_DATA_DIR is in quotes");
  });

  it("STOA_MIN_FREE_MIB accepts 1 to 1000000, and off", () => {
    for (const value of [1, 1_000_000]) {
      expect(readConfig({ STOA_MIN_FREE_MIB: String(value) }).minFreeMiB).toBe(value);
    }
    for (const text of ["0", "1000001", "OFF"]) {
      expect(() => readConfig({ STOA_MIN_FREE_MIB: text })).toThrow(
        `STOA_MIN_FREE_MIB must be off, or an integer from 1 to 1000000, not "${text}".`,
      );
    }
  });
});

describe("a token", () => {
  it.each([
    ["STOA_OPERATOR_TOKEN", ({ operatorToken }: Config) => operatorToken],
    ["STOA_METRICS_TOKEN", ({ metrics }: Config) => metrics.token],
  ])("%s has 32 visible ASCII characters or more", (name, read) => {
    for (const token of ["a".repeat(32), `!~${"x".repeat(30)}`, "a".repeat(200)]) {
      expect(read(readConfig({ [name]: token }))).toBe(token);
    }
    for (const token of ["a".repeat(31), `${"a".repeat(32)} a`, `${"a".repeat(32)}\x7f`]) {
      expect(() => readConfig({ [name]: token })).toThrow(`${name} must be at least 32 visible ASCII characters.`);
    }
  });
});

it("the ledger's epoch is a day of the calendar", () => {
  expect(readConfig({ STOA_LEDGER_EPOCH: "2024-02-29" }).ledgerEpoch).toBe("2024-02-29");
  for (const date of ["2023-02-29", "2024-13-01", "2024-1-01", "yesterday"]) {
    expect(() => readConfig({ STOA_LEDGER_EPOCH: date })).toThrow(
      `STOA_LEDGER_EPOCH must be a date, YYYY-MM-DD, not "${date}".`,
    );
  }
});

it("trusted proxies are addresses and networks, and nobody is one by default", () => {
  expect(readConfig({}).trustProxy).toEqual([]);
  const named = ["loopback", "linklocal", "uniquelocal", "0.0.0.0/0", "10.0.0.1/32", "192.0.2.1", "::1/128", "::/0"];
  expect(readConfig({ STOA_TRUST_PROXY: named.join(", ") }).trustProxy).toEqual(named);
  for (const entry of ["10.0.0.1/33", "::1/129", "10.0.0.1/", "proxy.example", "Loopback", "1", ""]) {
    expect(() => readConfig({ STOA_TRUST_PROXY: `loopback,${entry}` }), entry).toThrow("STOA_TRUST_PROXY must be");
  }
});

it("the data folder is absolute, whatever is set", () => {
  expect(readConfig({ STOA_DATA_DIR: "data" }).dataDir).toBe(join(process.cwd(), "data"));
  expect(readConfig({ STOA_DATA_DIR: "/var/lib/stoa" }).dataDir).toBe("/var/lib/stoa");
});

import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Config, readConfig } from "../../src/config/config.ts";

const mib = 1024 * 1024;

/** Each setting that is an integer: its bounds, and what a value becomes. */
const integers: [
  name: string,
  min: number,
  max: number,
  read: (config: Config) => unknown,
  becomes: (n: number) => unknown,
][] = [
  ["STOA_PORT", 0, 65_535, ({ port }) => port, (n) => n],
  ["STOA_METRICS_PORT", 0, 65_535, ({ metrics }) => metrics.port, (number) => ({ number, isDefault: false })],
  ["STOA_DATABASE_CONNECTIONS", 4, 1000, ({ databaseConnections }) => databaseConnections, (n) => n],
  ["STOA_DATABASE_TIMEOUT_SECONDS", 1, 600, ({ databaseTimeoutMs }) => databaseTimeoutMs, (n) => n * 1000],
  ["STOA_STOP_DELAY_SECONDS", 0, 3600, ({ stopDelayMs }) => stopDelayMs, (n) => n * 1000],
  ["STOA_DRAIN_SECONDS", 0, 3600, ({ drainTimeoutMs }) => drainTimeoutMs, (n) => n * 1000],
  ["STOA_SEND_TIMEOUT_SECONDS", 1, 3600, ({ sendTimeoutMs }) => sendTimeoutMs, (n) => n * 1000],
  ["STOA_MAX_STREAM_SECONDS", 1, 86_400, ({ streams }) => streams.maxMs, (n) => n * 1000],
  ["STOA_MAX_STREAMS", 1, 1_000_000, ({ streams }) => streams.total, (n) => n],
  ["STOA_MAX_STREAMS_PER_CONNECTION", 1, 1_000_000, ({ streams }) => streams.perConnection, (n) => n],
  ["STOA_MAX_STREAMS_PER_ADDRESS", 1, 1_000_000, ({ streams }) => streams.perAddress, (n) => n],
  ["STOA_MAX_STREAMS_PER_AGENT", 1, 1_000_000, ({ streams }) => streams.perAgent, (n) => n],
  ["STOA_MAX_CONNECTIONS", 1, 1_000_000, ({ maxConnections }) => maxConnections, (n) => n],
  ["STOA_MAX_CONNECTIONS_PER_ADDRESS", 1, 1_000_000, (config) => config.maxConnectionsPerAddress, (n) => n],
  [
    "STOA_MAX_UNSENT_BYTES_PER_CONNECTION",
    8 * mib,
    1024 * mib,
    ({ maxUnsentBytesPerConnection }) => maxUnsentBytesPerConnection,
    (n) => n,
  ],
  ["STOA_MAX_UNSENT_BYTES", 8 * mib, 16_384 * mib, ({ maxUnsentBytes }) => maxUnsentBytes, (n) => n],
  ["STOA_MAX_HEAP_PERCENT", 0, 100, ({ overload }) => overload.heapShare, (n) => (n === 0 ? undefined : n / 100)],
  [
    "STOA_MAX_RESIDENT_MIB",
    0,
    1_000_000,
    ({ overload }) => overload.residentBytes,
    (n) => (n === 0 ? undefined : n * mib),
  ],
];

describe("an integer setting", () => {
  it.each(integers)("%s accepts %i to %i, and no more", (name, min, max, read, becomes) => {
    for (const value of [min, max]) expect(read(readConfig({ [name]: String(value) }))).toEqual(becomes(value));
    for (const text of [String(min - 1), String(max + 1), `${min}.0`, "1e1", "0x1", `+${min}`]) {
      expect(() => readConfig({ [name]: text }), text).toThrow(
        `${name} must be an integer from ${min} to ${max}, not ${JSON.stringify(text)}.`,
      );
    }
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

describe("the ledger's epoch", () => {
  it("may be a leap day", () => {
    expect(readConfig({ STOA_LEDGER_EPOCH: "2024-02-29" }).ledgerEpoch).toBe("2024-02-29");
  });

  it.each(["2023-02-29", "2024-13-01", "2024-1-01", "yesterday"])("may not be %s", (date) => {
    expect(() => readConfig({ STOA_LEDGER_EPOCH: date })).toThrow(
      `STOA_LEDGER_EPOCH must be a date, YYYY-MM-DD, not "${date}".`,
    );
  });
});

describe("a trusted proxy", () => {
  it.each(["0.0.0.0/0", "10.0.0.1/32", "::1/128", "::/0"])("may be %s", (entry) => {
    expect(readConfig({ STOA_TRUST_PROXY: `loopback, ${entry}` }).trustProxy).toEqual(["loopback", entry]);
  });

  it.each(["10.0.0.1/33", "::1/129", "10.0.0.1/", "proxy.example", "Loopback", "1", ""])("may not be %j", (entry) => {
    expect(() => readConfig({ STOA_TRUST_PROXY: `loopback,${entry}` })).toThrow("STOA_TRUST_PROXY must be addresses,");
  });
});

it("the data folder is absolute, whatever is set", () => {
  expect(readConfig({ STOA_DATA_DIR: "data" }).dataDir).toBe(join(process.cwd(), "data"));
  expect(readConfig({ STOA_DATA_DIR: "/var/lib/stoa" }).dataDir).toBe("/var/lib/stoa");
});

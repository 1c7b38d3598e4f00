import { expect, it } from "vitest";
import {
  clusterStatement,
  readState,
  type StateRow,
  stateQuery,
} from "../../../../src/store/database/pool/node-state.ts";
import { createTestDatabase } from "../../../support/database.ts";

const galera = readState({ server: "s", galera: "Galera", replication: null });
const group = (singlePrimary: "ON" | "OFF") =>
  readState({ server: "s", galera: null, replication: `aaaaaaaa-0000-0000-0000-000000000000,${singlePrimary}` });
const single = readState({ server: "s", galera: null, replication: null });

it("a server says whether it belongs to a cluster, and to which kind", () => {
  expect(galera).toEqual({ server: "s", engine: "galera" });
  expect(group("ON")).toEqual({ server: "s", engine: "group", hasPrimary: true });
  expect(group("OFF")).toEqual({ server: "s", engine: "group", hasPrimary: false });
  expect(single).toEqual({ server: "s", engine: "single" });
  // A plugin that is not used has a name without a value.
  expect(readState({ server: "s", galera: "", replication: ",ON" })).toEqual(single);
});

it("only sessions of a cluster are set to see what its other servers have acknowledged", () => {
  const sync = (node: typeof single) => clusterStatement(node, { syncReads: true, isLimited: false });
  expect(sync(galera)).toBe("SET SESSION wsrep_sync_wait = 7");
  expect(sync(group("ON"))).toContain("= 'BEFORE_ON_PRIMARY_FAILOVER'");
  expect(sync(group("OFF"))).toContain("= 'BEFORE'");
  expect(sync(single)).toBeUndefined();
  expect(clusterStatement(galera, { syncReads: false, isLimited: false })).toBeUndefined();
});

it("a member of a replication group does not let a switchover wait for long, but lets a migration", () => {
  const lock = (node: typeof single, isLimited = true) => clusterStatement(node, { syncReads: false, isLimited });
  expect(lock(group("ON"))).toBe("SET SESSION lock_wait_timeout = 1");
  expect(lock(group("ON"), false)).toBeUndefined();
  expect([lock(galera), lock(single)]).toEqual([undefined, undefined]);
});

it("the server of the tests says that it is a single one, and which", async () => {
  const db = await createTestDatabase();
  const [row] = await db.rows<StateRow>(stateQuery);
  expect(readState(row as StateRow)).toEqual({ server: expect.stringMatching(/^\S+ \d+ \//), engine: "single" });
});

import { expect, it } from "vitest";
import {
  clusterStatement,
  isInGroup,
  readState,
  type StateRow,
  stateQuery,
} from "../../../../src/store/database/pool/node-state.ts";
import { createTestDatabase } from "../../../support/database.ts";

const galera = (changes: Record<string, string> = {}) =>
  Object.entries({
    WSREP_PROVIDER_NAME: "Galera",
    WSREP_READY: "ON",
    WSREP_CLUSTER_STATUS: "Primary",
    WSREP_LOCAL_STATE: "4",
    ...changes,
  })
    .map((pair) => pair.join("="))
    .join(",");

const group = "GROUP_REPLICATION_GROUP_NAME=g,GROUP_REPLICATION_SINGLE_PRIMARY_MODE=";

const read = (plugin: string | null, readOnly = 0) => readState({ server: "s", readOnly, plugin });

it("a Galera node takes writes while it is ready, synced or a donor, and in the primary component", () => {
  expect(read(galera())).toEqual({ server: "s", engine: "galera", isWritable: true });
  expect(read(galera({ WSREP_LOCAL_STATE: "2" })).isWritable).toBe(true);
  const others = [{ WSREP_READY: "OFF" }, { WSREP_CLUSTER_STATUS: "non-Primary" }, { WSREP_LOCAL_STATE: "1" }];
  for (const changes of others)
    expect(read(galera(changes)), JSON.stringify(changes)).toMatchObject({ isWritable: false });
  expect(read(galera(), 1).isWritable).toBe(false);
});

it("a member of a replication group takes writes unless it is read-only", () => {
  const plugin = "GROUP_REPLICATION_GROUP_NAME=aaaaaaaa-0000-0000-0000-000000000000";
  expect(read(plugin)).toEqual({ server: "s", engine: "group", hasPrimary: true, isWritable: true });
  expect(read(plugin, 1).isWritable).toBe(false);
});

it("a member of a replication group serves while it is online there and sees most members", () => {
  const sees = (own: string, ...others: string[]) =>
    isInGroup([own, ...others].map((state, index) => ({ isOwn: index === 0 ? 1 : 0, state })));
  expect(sees("ONLINE")).toBe(true);
  expect(sees("ONLINE", "ONLINE", "UNREACHABLE")).toBe(true);
  expect(sees("ONLINE", "UNREACHABLE", "UNREACHABLE")).toBe(false);
  expect(sees("ONLINE", "UNREACHABLE")).toBe(false);
  // It has started and not joined, has left, or catches up.
  for (const own of ["OFFLINE", "ERROR", "RECOVERING"]) expect(sees(own, "ONLINE", "ONLINE"), own).toBe(false);
  // Without its group, a server has one row without an id.
  expect(isInGroup([{ isOwn: 0, state: "OFFLINE" }])).toBe(false);
});

it("a single server takes writes unless it is read-only, whether or not it knows of plugins", () => {
  for (const plugin of [null, "", "WSREP_PROVIDER_NAME=,WSREP_READY=OFF", "GROUP_REPLICATION_GROUP_NAME="])
    expect(read(plugin)).toEqual({ server: "s", engine: "single", isWritable: true });
  expect(read(null, 1)).toEqual({ server: "s", engine: "single", isWritable: false });
});

it("only sessions of a cluster are set to see what its other servers have acknowledged", () => {
  const sync = (plugin: string | null) => clusterStatement(read(plugin), { syncReads: true, isLimited: false });
  expect(sync(galera())).toBe("SET SESSION wsrep_sync_wait = 7");
  expect(sync(`${group}ON`)).toContain("= 'BEFORE_ON_PRIMARY_FAILOVER'");
  expect(sync(`${group}OFF`)).toContain("= 'BEFORE'");
  expect(sync(null)).toBeUndefined();
  expect(clusterStatement(read(galera()), { syncReads: false, isLimited: false })).toBeUndefined();
});

it("a member of a replication group does not let a switchover wait for long, but lets a migration", () => {
  const lock = (plugin: string | null, isLimited = true) =>
    clusterStatement(read(plugin), { syncReads: false, isLimited });
  expect(lock(`${group}ON`)).toBe("SET SESSION lock_wait_timeout = 1");
  expect(lock(`${group}ON`, false)).toBeUndefined();
  expect([lock(galera()), lock(null)]).toEqual([undefined, undefined]);
});

it("the server of the tests says that it is a single one", async () => {
  const db = await createTestDatabase();
  const [row] = await db.rows<StateRow>(stateQuery);
  expect(readState(row as StateRow)).toMatchObject({ engine: "single", isWritable: true });
});

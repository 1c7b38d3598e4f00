import { describe, expect, it } from "vitest";
import { StoaError } from "../../../../src/errors.ts";
import { Database } from "../../../../src/store/database/database.ts";
import { type Health, Hosts } from "../../../../src/store/database/pool/hosts.ts";
import { startCuttingProxy } from "../../../support/cutting-proxy.ts";
import { createTestDatabase } from "../../../support/database.ts";
import { serverOf } from "../../../support/database-link.ts";
import { startRelay } from "../../../support/relay.ts";
import { waitUntil } from "../../../support/wait.ts";

const never = new AbortController().signal;
const address = {
  host: "a",
  port: 1,
  user: "u",
  database: "d",
  others: [
    { host: "b", port: 2 },
    { host: "c", port: 3 },
  ],
};

describe("the choice among several servers", () => {
  const open = () => {
    const hosts = new Hosts(address);
    const record = (host: string, health: Health, now = 0) => {
      const found = hosts.addresses.find((each) => each.host === host);
      return hosts.record(found as (typeof hosts.addresses)[number], health, now);
    };
    return { hosts, record };
  };

  it("waits at the start until no preferred server is unknown", () => {
    const { hosts, record } = open();
    record("b", "writable");
    expect(hosts.isChosen).toBe(false);
    record("a", "down");
    expect([hosts.isChosen, hosts.current.host]).toEqual([true, "b"]);
  });

  it("moves at once when the server goes or is demoted, and returns when the preferred one has been well for a while", () => {
    const { hosts, record } = open();
    for (const host of ["a", "b", "c"]) record(host, "writable");
    expect(record("a", "readable", 100)).toBe(true);
    expect(hosts.current.host).toBe("b");
    expect(record("b", "down", 200)).toBe(true);
    expect(hosts.current.host).toBe("c");
    expect(record("a", "writable", 1_000)).toBe(false);
    expect(record("a", "writable", 5_900)).toBe(false);
    expect(record("a", "writable", 6_000)).toBe(true);
    expect(hosts.current.host).toBe("a");
  });

  it("stays where it can read while no server takes writes", () => {
    const { hosts, record } = open();
    for (const host of ["a", "b", "c"]) record(host, "writable");
    record("b", "readable");
    record("c", "down");
    expect(record("a", "readable")).toBe(false);
    expect(record("a", "down")).toBe(true);
    expect(hosts.current.host).toBe("b");
    record("c", "writable");
    expect(hosts.current.host).toBe("c");
  });
});

it("a pool goes to the next server when its own is gone, and calls hardly notice", async () => {
  const test = await createTestDatabase();
  await test.rows("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB");
  await test.rows("INSERT INTO t VALUES (1, 0)");
  const relay = () =>
    startRelay(serverOf(test.config), (client, server) => {
      client.pipe(server);
      server.pipe(client);
    });
  const [first, second] = [await relay(), await relay()];
  const { socketPath: _, ...account } = test.config;
  const others = [{ host: "127.0.0.1", port: second.port }];
  const db = new Database({ address: { ...account, host: "127.0.0.1", port: first.port, others }, connections: 4 });
  const add = () => db.transaction(never, (tx) => tx.run("UPDATE t SET n = n + 1 WHERE id = 1"));
  const read = async () => (await db.reader(never).rows<{ n: number }>("SELECT n FROM t"))[0]?.n;
  try {
    await Promise.all([add(), add()]);
    expect([await read(), db.isCluster]).toEqual([2, true]);
    const connections = await db.onOneServer(never, (reader) =>
      Promise.all(
        [1, 2, 3].map(async () => (await reader.rows<{ id: number }>("SELECT CONNECTION_ID() AS id"))[0]?.id),
      ),
    );
    expect(new Set(connections).size).toBe(1);
    // The watch has a connection to each of them.
    await waitUntil("the watch", () => second.clients === 1);
    expect(first.clients).toBeGreaterThan(1);
    await first.close();
    await Promise.all([add(), add()]);
    expect(await read()).toBe(4);
    expect(second.clients).toBeGreaterThan(1);
    await second.close();
    await expect(db.reader(AbortSignal.timeout(300)).rows("SELECT 1")).rejects.toThrow();
  } finally {
    await db.close();
  }
});

it("a statement on a frozen server runs on another one as soon as there is one, although there was none at first", async () => {
  const test = await createTestDatabase();
  const [first, second] = await Promise.all(
    [1, 2].map(() =>
      startRelay(serverOf(test.config), (client, server) => {
        client.pipe(server);
        server.pipe(client);
      }),
    ),
  );
  if (first === undefined || second === undefined) throw new Error("two relays");
  await second.close();
  const { socketPath: _, ...account } = test.config;
  const others = [{ host: "127.0.0.1", port: second.port }];
  const db = new Database({ address: { ...account, host: "127.0.0.1", port: first.port, others }, connections: 2 });
  try {
    await db.reader(never).rows("SELECT 1");
    first.freeze();
    const reading = db.reader(never).rows("SELECT 1 AS one");
    await second.open();
    expect(await reading).toEqual([{ one: 1 }]);
  } finally {
    await db.close();
  }
});

it("the connections to a server that becomes read-only are given up, and the write runs on a new one", async () => {
  const test = await createTestDatabase();
  await test.rows("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB");
  await test.rows("INSERT INTO t VALUES (1, 0)");
  await test.rows(
    "CREATE TRIGGER refuse BEFORE UPDATE ON t FOR EACH ROW SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1290, MESSAGE_TEXT = 'read-only'",
  );
  const db = new Database({ address: test.config, connections: 4 });
  const id = "SELECT CONNECTION_ID() AS id";
  const connections = async () => {
    const found = await Promise.all([1, 2, 3].map(() => db.reader(never).rows<{ id: number }>(id)));
    return found.map(([row]) => row?.id);
  };
  try {
    const before = await connections();
    const used: (number | undefined)[] = [];
    await db.transaction(never, async (tx) => {
      used.push((await tx.rows<{ id: number }>(id))[0]?.id);
      if (used.length === 2) await test.rows("DROP TRIGGER refuse");
      await tx.run("UPDATE t SET n = n + 1 WHERE id = 1");
    });
    expect(used).toHaveLength(2);
    const given = [...before, used[0]];
    for (const each of [used[1], ...(await connections())]) expect(given).not.toContain(each);
    expect(await test.rows("SELECT n FROM t")).toEqual([{ n: 1 }]);
  } finally {
    await db.close();
  }
});

it("a transaction without an answer to COMMIT is not repeated unless its work has a claim", async () => {
  const test = await createTestDatabase();
  await test.rows("CREATE TABLE t (id INT PRIMARY KEY) ENGINE=InnoDB");
  const proxy = await startCuttingProxy(test.config);
  const db = new Database({ address: proxy.config, connections: 2 });
  try {
    const insert = (id: number, isClaimed: boolean) => {
      let runs = 0;
      return db.transaction(
        never,
        async (tx) => {
          runs += 1;
          const [row] = await tx.rows("SELECT 1 FROM t WHERE id = ?", [id]);
          if (row === undefined) await tx.run("INSERT INTO t VALUES (?)", [id]);
          if (runs === 1) proxy.cutAtText("COMMIT", "after");
          return runs;
        },
        { isClaimed },
      );
    };
    const failure = await insert(1, false).catch((error) => error);
    expect(failure).toBeInstanceOf(StoaError);
    expect(failure.message).toContain("did not say whether");
    expect(await insert(2, true)).toBe(2);
    expect(await test.rows("SELECT id FROM t ORDER BY id")).toEqual([{ id: 1 }, { id: 2 }]);
  } finally {
    await db.close();
  }
});

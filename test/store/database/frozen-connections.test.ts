// Connections to the database freeze. Every call ends, and every lost connection is replaced. What never answers cannot end a
// call, so a call that ends has met its time limit: no test measures how long it took. The tests wait for these limits all at
// once, each with a database of its own.
import { type AddressInfo, connect, createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { Database } from "../../../src/store/database/database.ts";
import { type Cut, startCuttingProxy } from "../../support/cutting-proxy.ts";
import type { TestDatabase } from "../../support/database.ts";
import { serverOf } from "../../support/database-link.ts";
import { type Relay, startRelay } from "../../support/relay.ts";
import { waitUntil } from "../../support/wait.ts";
import { add, createRows, failure, longMs, never, numberAt, read, timeoutMs, unavailable, untilDone } from "./rows.ts";

/** A table of rows behind a relay that can freeze. */
async function relayed(): Promise<{ test: TestDatabase; relay: Relay; open(limitMs: number): Database }> {
  const test = await createRows();
  const relay = await startRelay(serverOf(test.config), (client, server) => {
    client.pipe(server);
    server.pipe(client);
  });
  const address = addressAt(test, relay.port);
  return { test, relay, open: (limitMs) => new Database({ address, connections: 4, timeoutMs: limitMs }) };
}

/** The database of a test, as a port here leads to it. */
function addressAt({ config: { socketPath: _, ...account } }: TestDatabase, port: number) {
  return { ...account, host: "127.0.0.1", port };
}

describe.concurrent("connections that freeze", () => {
  it("fail every call, whether or not it has a connection, and are replaced when the database answers again", async () => {
    const { relay, open } = await relayed();
    const db = open(timeoutMs);
    await untilDone(() => Promise.all([read(db), read(db)]));
    relay.freeze();
    const failures = await Promise.all(Array.from({ length: 12 }, (_, i) => failure(i % 2 === 0 ? read(db) : add(db))));
    for (const error of failures) expect(error).toMatchObject(unavailable);
    relay.thaw();
    await untilDone(() => read(db));
    await waitUntil("the lost connections to be closed", () => relay.clients <= 4);
    await db.close();
  });

  it("are closed when the pool closes, although their calls have no limit", async () => {
    const { relay, open } = await relayed();
    const db = open(Number.POSITIVE_INFINITY);
    await Promise.all([read(db), read(db), read(db)]);
    relay.freeze();
    const call = failure(read(db));
    await db.close();
    expect(await call).toMatchObject({ code: "unavailable" });
    await expect(read(db)).rejects.toMatchObject({ code: "unavailable" });
  });

  it("leave nothing behind after many callers abort", async () => {
    const { test, relay, open } = await relayed();
    const db = open(longMs);
    await Promise.all([read(db), read(db)]);
    relay.freeze();
    const calls = Array.from({ length: 100 }, (_, i) => {
      const leaving = new AbortController();
      return { leaving, call: failure(i % 2 === 0 ? read(db, leaving.signal) : add(db, 1, leaving.signal)) };
    });
    for (const { leaving } of calls) leaving.abort(new Error("given up"));
    for (const { call } of calls) expect(await call).toMatchObject({ message: "given up" });
    relay.thaw();
    await untilDone(() => read(db));
    await waitUntil("no call to be left", () => db.load.inUse === 0 && db.load.waiting === 0);
    expect(await numberAt(test, 1)).toBe(0);
    await db.close();
  });
});

it.concurrent("connections that are given up are closed here, although the server keeps its end open", async ({
  onTestFinished,
}) => {
  const test = await createRows();
  let isFrozen = false;
  const closed = Promise.withResolvers<void>();
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const isOurs = !isFrozen;
    const upstream = connect({ ...serverOf(test.config), allowHalfOpen: true });
    client.on("data", (bytes) => void (isFrozen || upstream.write(bytes)));
    upstream.on("data", (bytes) => client.write(bytes));
    client.on("end", () => {
      // A socket that is closed at the other end refuses one of these bytes. To the driver they are less than a packet.
      for (const ms of [20, 40, 60]) setTimeout(() => client.write(Buffer.alloc(1)), ms);
    });
    client.on("error", () => isOurs && closed.resolve());
    onTestFinished(() => {
      client.destroy();
      upstream.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = addressAt(test, (server.address() as AddressInfo).port);
  const db = new Database({ address, connections: 4, timeoutMs });
  onTestFinished(() => db.close());
  await untilDone(() => read(db));
  isFrozen = true;
  expect(await failure(read(db))).toMatchObject(unavailable);
  await closed.promise;
});

it.concurrent("connections that have died in silence cost one call its time, and not one call each", async ({
  onTestFinished,
}) => {
  const test = await createRows();
  let isDead = false;
  // As after a firewall has forgotten the connections that were idle: new ones are forwarded.
  const relay = await startRelay(serverOf(test.config), (client, server) => {
    const isOld = !isDead;
    client.on("data", (bytes) => (isOld && isDead ? undefined : void server.write(bytes)));
    server.pipe(client);
  });
  const db = new Database({ address: addressAt(test, relay.port), connections: 12, timeoutMs: 2 * timeoutMs });
  onTestFinished(() => db.close());
  const readAll = () => Promise.all([1, 2, 3, 4, 5].map(() => db.reader(never).rows("SELECT SLEEP(0.1)")));
  await untilDone(readAll);
  isDead = true;
  expect(await failure(read(db))).toMatchObject(unavailable);
  await waitUntil("the connection to be given up", () => db.load.inUse === 0);
  await readAll();
});

describe.concurrent("a connection that freezes in the middle of a call", () => {
  it("fails the call within its time limit, and the next ones work", async () => {
    const test = await createRows();
    const cases: [text: string, when: Cut, happened: number][] = [
      ["UPDATE", "before", 0],
      ["UPDATE", "after", 0],
      ["COMMIT", "before", 0],
      ["COMMIT", "after", 1],
    ];
    // All at once, as each waits for its time limit. Each has a row and a proxy of its own.
    const endings = cases.map(async ([text, when, happened], index) => {
      const id = index + 1;
      const name = `${text}, ${when} the server receives it`;
      const proxy = await startCuttingProxy(test.config);
      const db = new Database({ address: proxy.config, connections: 2, timeoutMs });
      await untilDone(() => add(db, id));
      const before = (await numberAt(test, id)) as number;
      proxy.cutAtText(text, when, "freeze");
      const error = await failure(
        // The comment makes the text new to the connection, so that it is sent, and prepared, again.
        db.transaction(never, (tx) => tx.run(`UPDATE t SET n = n + 1 WHERE id = ${id} /* ${when} */`, [])),
      );
      expect(proxy.wasCut(), name).toBe(true);
      expect(error, name).toMatchObject(unavailable);
      if (text === "COMMIT") expect((error as Error).message).toContain("did not say whether this call took effect");
      // It may hold its locks until the lost connection is closed.
      let now = before;
      await untilDone(() =>
        db.transaction(never, async (tx) => {
          const [row] = await tx.rows<{ n: number }>("SELECT n FROM t WHERE id = ? FOR UPDATE", [id]);
          now = row?.n ?? Number.NaN;
        }),
      );
      expect(now - before, name).toBe(happened);
      await db.close();
    });
    await Promise.all(endings);
  });
});

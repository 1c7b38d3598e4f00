import { expect, it } from "vitest";
import { Database } from "../../../../src/store/database/database.ts";
import { createTestDatabase } from "../../../support/database.ts";
import { serverOf } from "../../../support/database-link.ts";
import { startRelay } from "../../../support/relay.ts";
import { waitUntil } from "../../../support/wait.ts";

const never = new AbortController().signal;

it("a name that moves to another server is a cluster while connections to both are open, and not after that", async () => {
  const test = await createTestDatabase();
  const [row] = await test.rows<{ dir: string }>("SELECT @@datadir AS dir");
  const dir = row?.dir ?? "";
  // The same server behind another name: one byte of what it says of itself is different.
  let hasMoved = false;
  const relay = await startRelay(serverOf(test.config), (client, server) => {
    client.pipe(server);
    server.on("data", (bytes: Buffer) => {
      const at = hasMoved ? bytes.indexOf(dir) : -1;
      if (at >= 0) bytes.write("~", at + 1);
      client.write(bytes);
    });
  });
  const { socketPath: _, ...account } = test.config;
  const db = new Database({ address: { ...account, host: "127.0.0.1", port: relay.port }, connections: 2 });
  const seen: boolean[] = [];
  try {
    await db
      .transaction(never, async (tx) => {
        const [first] = await tx.rows<{ id: number }>("SELECT CONNECTION_ID() AS id");
        seen.push(db.isCluster);
        hasMoved = true;
        await db.reader(never).rows("SELECT 1");
        seen.push(db.isCluster);
        await test.rows(`KILL ${first?.id}`);
        await waitUntil("the end of the first connection", () => !db.isCluster);
      })
      .catch(() => {});
    expect([...seen.slice(0, 2), db.isCluster]).toEqual([false, true, false]);
  } finally {
    await db.close();
  }
});

import { createDatabaseWithSchema, type TestDatabase } from "../../support/database.ts";
import { serverOf } from "../../support/database-link.ts";
import { startRelay } from "../../support/relay.ts";

/** A separate database, behind a relay that counts the bytes which services read from it. */
export interface CountedDatabase extends TestDatabase {
  bytesRead(): number;
}

export async function createCountedDatabase(): Promise<CountedDatabase> {
  const direct = await createDatabaseWithSchema();
  let bytes = 0;
  const { port } = await startRelay(serverOf(direct.config), (client, database) => {
    client.pipe(database);
    database.pipe(client);
    database.on("data", (chunk) => {
      bytes += chunk.length;
    });
  });
  const { socketPath: _socketPath, ...account } = direct.config;
  return { ...direct, config: { ...account, host: "127.0.0.1", port }, bytesRead: () => bytes };
}

/** Resolves with the number of bytes once nearly nothing is read any more: services also read a little by the clock. */
export async function untilQuiet({ bytesRead }: CountedDatabase): Promise<number> {
  const quiet = { ms: 300, bytes: 20_000 };
  let value = bytesRead();
  for (let since = performance.now(); performance.now() - since < quiet.ms; ) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (bytesRead() - value < quiet.bytes) continue;
    value = bytesRead();
    since = performance.now();
  }
  return bytesRead();
}

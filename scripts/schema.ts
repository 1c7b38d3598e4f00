// Writes src/store/schema/schema.txt from the migrations, which run on a private server. A test compares it with its own schema.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPrivateServer } from "../src/private-database/server/private-server.ts";
import { ensureDatabase } from "../src/private-database/setup/ensure-database.ts";
import { Database } from "../src/store/database/database.ts";
import { migrate } from "../src/store/schema/migrate.ts";
import { describeSchema } from "../src/store/schema/schema-dump.ts";

const dataDir = mkdtempSync(join(tmpdir(), "stoa-schema-"));
const log = () => {};
const server = await startPrivateServer({ dataDir, log });
try {
  const account = { socketPath: server.socketPath, user: server.user };
  await ensureDatabase(account, "stoa");
  const db = new Database({ address: { ...account, database: "stoa" }, connections: 1 });
  await migrate(db, { log });
  writeFileSync(
    new URL("../src/store/schema/schema.txt", import.meta.url),
    await describeSchema(db.reader(new AbortController().signal)),
  );
  await db.close();
} finally {
  await server.stop();
  rmSync(dataDir, { recursive: true, force: true });
}

import type { BoardLogConfig } from "../../src/config/config.ts";
import { formatSignerKey, type SignerKey } from "../../src/tlog/notes/signer-key.ts";
import { createDatabaseWithSchema, type TestDatabase } from "./database.ts";
import { beginTestLog } from "./log.ts";
import { type Service, startService } from "./service.ts";

/** A database whose log has begun, and the setting with which a service signs it. */
export async function createLoggedDatabase(): Promise<{ db: TestDatabase; key: SignerKey; boardLog: BoardLogConfig }> {
  const db = await createDatabaseWithSchema();
  const key = await beginTestLog(db);
  return { db, key, boardLog: { mayBegin: true, origin: undefined, keyText: formatSignerKey(key) } };
}

/** Starts a service whose log has begun. */
export async function startLoggedService(): Promise<Service> {
  const { db, boardLog } = await createLoggedDatabase();
  return startService({ db, config: { boardLog } });
}

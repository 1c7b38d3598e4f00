import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { Database } from "../../src/store/database/database.ts";
import { schemaState } from "../../src/store/schema/migration-records.ts";
import { describeSchema } from "../../src/store/schema/schema-dump.ts";
import { afterFile } from "./after-file.ts";
import { createDatabaseWithSchema } from "./database.ts";

it("a database that is made from the template is as the migrations leave it", async () => {
  const { config } = await createDatabaseWithSchema();
  const db = new Database({ address: config, connections: 1 });
  afterFile(() => db.close());
  const { signal } = new AbortController();
  expect(await schemaState(db)).toEqual({ kind: "current" });
  const expected = readFileSync(new URL("../../src/store/schema/schema.txt", import.meta.url), "utf8");
  expect(await describeSchema(db.reader(signal))).toBe(expected);
});

import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { expect, it, onTestFinished } from "vitest";
import { LedgerOperatorService } from "../../../gen/stoa/v1/ledger_operator_service_pb.js";
import { findFaketime } from "../../../scripts/lib/faketime.mjs";
import { createDatabaseWithSchema } from "../../support/database.ts";
import { ServiceProcess, urlOf } from "../../support/process.ts";
import { askRest } from "../../support/service.ts";
import { untilDayLasts, waitUntil } from "../../support/wait.ts";
import { asOperator, operatorToken, refusal, verifyLedger } from "../support.ts";

const library = findFaketime();
if (library === undefined) console.warn("libfaketime is not there: the clock of a real process is NOT tested.");

it.skipIf(library === undefined)("a real clock that is three years ahead for a while has nothing sealed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "stoa-faketime-"));
  // The service's account must be able to enter it.
  chmodSync(folder, 0o755);
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "offset");
  const setClock = (offset: string) => {
    writeFileSync(`${file}.new`, offset);
    renameSync(`${file}.new`, file);
  };
  await untilDayLasts();
  setClock("+0");
  const db = await createDatabaseWithSchema();
  const service = new ServiceProcess({
    STOA_DATABASE_URL: urlOf(db.config),
    STOA_OPERATOR_TOKEN: operatorToken,
    LD_PRELOAD: library as string,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: "1",
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
  });
  onTestFinished(() => service.end("SIGINT"));
  const url = await service.url();
  const client = createClient(LedgerOperatorService, createConnectTransport({ baseUrl: url, httpVersion: "1.1" }));
  const session = new Date().toISOString().slice(0, 10);
  const seal = (book: string) => client.sealSession({ book, session, source: "feed:test" }, asOperator);
  const warning = async (): Promise<string> => (await askRest(url, "/readyz")).body.warning ?? "";
  const doubt = "The service's clock";
  await seal("before");

  setClock("+1095d");
  await waitUntil("the doubt", async () => (await warning()).includes(doubt));
  expect(await warning()).toMatch(/The service's clock is 109[45] d \d+ h ahead of the database's/);
  expect(await refusal(seal("during"))).toEqual({ code: "Unavailable", error: "unavailable" });
  await waitUntil("the log", () => service.output.includes("the clock is in doubt"));

  setClock("+0");
  await waitUntil("the end of the doubt", async () => !(await warning()).includes(doubt));
  await seal("after");
  expect(await db.rows("SELECT date FROM ledger_days")).toEqual([]);
  const documents = await verifyLedger(db);
  expect(documents.map(({ book }) => book)).toEqual([null, "before", "after"]);
  expect(Math.abs(Date.parse(documents[2].ts) - Date.now())).toBeLessThan(60_000);
});

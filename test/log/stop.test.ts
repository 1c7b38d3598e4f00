import { expect, it } from "vitest";
import { BoardLog } from "../../src/log/board-log.ts";
import { Database } from "../../src/store/database/database.ts";
import { afterFile } from "../support/after-file.ts";
import { createDatabaseWithSchema } from "../support/database.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { waitUntil } from "../support/wait.ts";
import { watchSteps } from "./steps.ts";
import { GrowingLog, key, never } from "./support.ts";

it("a replica that stops while it finds a log does not begin to add to it", async () => {
  const test = await createDatabaseWithSchema();
  const db = new Database({ address: test.config, connections: 4 });
  afterFile(() => db.close());
  let isFound = false;
  const options = {
    db,
    path: scratchFolder(),
    now: Date.now,
    log: { info: () => {}, warn: () => {}, error: () => {} },
    origin: undefined,
    key,
    mayBegin: false,
    hasReplicas: false,
    onLog: () => {
      isFound = true;
    },
    lookMs: { identity: 20 },
  };
  const log = await BoardLog.open(options, never);
  afterFile(() => log.stop());
  let stopped: Promise<void> | undefined;
  const end = await watchSteps((name) => {
    const stop = () => {
      stopped ??= log.stop();
    };
    // Its last step is to store the note in the database.
    return isFound && name === "transaction" ? { done: stop } : undefined;
  });
  await GrowingLog.begin(test);
  await waitUntil("the stop", () => stopped !== undefined);
  await stopped;
  end();
  expect(log.current).toBeUndefined();
});

// Publishes the newest tree of a log, and kills this process before one step: node publish-and-die.ts '{"database": …}'
import { signerOf } from "../../src/log/crypto.ts";
import { Publisher } from "../../src/log/publisher/publisher.ts";
import { Database } from "../../src/store/database/database.ts";
import { testKey } from "../tlog/node-functions.ts";
import { watchSteps } from "./steps.ts";

const { database, path, step } = JSON.parse(process.argv[2] as string);
const key = await testKey("stoa.example/log");
const db = new Database({ address: database, connections: 4 });
const { signal } = new AbortController();
const log = { info: () => {}, warn: console.error, error: console.error };
const publisher = new Publisher({ db, path, key, signer: signerOf(key), log, lookMs: 3_600_000 });
await watchSteps((_, number) => {
  if (number === step) process.kill(process.pid, "SIGKILL");
  return undefined;
});
await publisher.begin(signal);
await publisher.publish(signal);
await publisher.stop();
await db.close();

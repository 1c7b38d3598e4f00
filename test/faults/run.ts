import { Load } from "../hammer/load.ts";
import type { TestDatabase } from "../support/database.ts";
import { PublishedLog } from "../support/published-log.ts";
import { askRest } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";
import type { Fault } from "./fault.ts";
import { startProbe } from "./probe.ts";
import { operatorToken, Stage } from "./stage.ts";

export interface Result {
  fault: Fault;
  /** Descriptions of what went wrong. Empty if all was well. */
  wrong: string[];
  /** How many writes were acknowledged before, during and after the fault. */
  acknowledged: number;
  /** The time from the end of the fault until reads, writes and readiness worked again, in milliseconds. */
  backMs: number;
}

const seed = 20_261_122;
const backWithinMs = 60_000;
const probeName = "probe";

/** Runs one fault under load, and compares the database with everything that was acknowledged. */
export async function runFault(fault: Fault): Promise<Result> {
  const stage = new Stage();
  try {
    await (fault.open ?? ((each: Stage) => each.open()))(stage);
    const load = new Load({ urls: () => [stage.url], operatorToken, seed });
    await load.more(10, 2);
    const { body } = await askRest(stage.url, "agents/register", { body: { name: probeName } });
    load.done.agents.set(probeName, body.api_key);
    const probe = startProbe(stage.url, body.api_key);
    const wrong = await fault.harm(stage, load);
    wrong.push(...(await probe.stop(fault.during)));
    const ended = performance.now();
    await fault.mend?.(stage);
    await waitUntil("the service to be back", () => probe.isFine(), backWithinMs);
    const backMs = Math.round(performance.now() - ended);
    if (!load.isStopped) await load.more(10, 2);
    await load.stop();
    wrong.push(...(await stage.withDatabase((db) => load.check(db))));
    wrong.push(...(await stage.withDatabase((db) => checkLog(stage, db))));
    const acknowledged = Object.values(load.acknowledged).reduce((sum, count) => sum + count);
    return { fault, wrong, acknowledged, backMs };
  } finally {
    await stage.close();
  }
}

/** What is wrong with the log. Only a service on a database of its own has one without a key that is given to it. */
async function checkLog({ settings, url }: Stage, db: TestDatabase): Promise<string[]> {
  return settings.STOA_DATABASE_URL === undefined ? new PublishedLog(db, () => [url]).faults() : [];
}

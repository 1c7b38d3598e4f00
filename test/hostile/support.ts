import { expect } from "vitest";
import { afterFile } from "../support/after-file.ts";
import { describeAttack, expectServed, type NeighbourReply } from "../support/attacked.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { ServiceProcess, urlOf } from "../support/process.ts";
import { Script } from "../support/script.ts";
import { askRest } from "../support/service.ts";
import { startEnvironment, startFlags } from "../support/start-script.ts";
import { statusMiB } from "../support/status.ts";

/** What an attack did to the event loop of the service, in milliseconds. */
interface Blocks {
  /** The longest block of the event loop, as clients notice it. */
  longestMs: number;
  /**
   * The processor time of the most expensive turn of the event loop. On a busy machine, a block can be much longer,
   * because the service waits for a core.
   */
  longestCpuMs: number;
}

/** A service under attack: a process of its own, as `npm start` runs it, with default settings. */
export interface Victim {
  /** The root address, http://127.0.0.1:port. */
  readonly url: string;
  readonly port: number;
  readonly db: TestDatabase;
  /** An agent with a good key. */
  readonly key: string;
  /** The service's resident memory now, in MiB. */
  residentMiB(): number;
  /** The longest blocks of the service's event loop since this was last asked. */
  longestBlocks(): Promise<Blocks>;
  /**
   * Runs an attack while a well-behaved client goes on reading and writing. Afterwards the same process must be running,
   * and what `expectServed` says must be true.
   */
  during<T>(attack: () => Promise<T>): Promise<T>;
}

/**
 * @param environment settings besides the address, the database and the log level
 * @param given a database that is not empty
 */
export async function startVictim(environment: Record<string, string> = {}, given?: TestDatabase): Promise<Victim> {
  const db = given ?? (await createTestDatabase());
  const settings = {
    ...startEnvironment,
    STOA_METRICS_PORT: "none",
    STOA_DATABASE_URL: urlOf(db.config),
    STOA_LOG_LEVEL: "warn",
    // For the neighbour, who goes on writing however long an attack takes.
    STOA_LIMIT_COMMENTS: "100000/1m",
    ...environment,
  };
  const watch = `--import=${new URL("victim-watch.ts", import.meta.url)}`;
  const service = new ServiceProcess(settings, { flags: [...startFlags, watch] });
  afterFile(() => service.end("SIGTERM"));
  const url = await service.url();
  const { body } = await askRest(url, "agents/register", { body: { name: "Neighbour" } });
  const key: string = body.api_key;
  await askRest(url, "posts", { key, body: { title: "What the neighbour talks about" } });
  const longestBlocks = () => service.ask<Blocks>("longest");
  return {
    url,
    port: Number(new URL(url).port),
    db,
    key,
    residentMiB: () => statusMiB(service.pid, "VmRSS"),
    longestBlocks,
    async during(attack) {
      const neighbour = new Script<NeighbourReply>(new URL("neighbour.ts", import.meta.url), [url, key]);
      await neighbour.next();
      await longestBlocks();
      const result = await attack();
      // One more reply at least: an attack that is over at once is judged by what it leaves behind.
      await neighbour.next();
      await neighbour.leave();
      expect(service.hasExited, service.output).toBe(false);
      const { longestMs, longestCpuMs } = await longestBlocks();
      const blocked = `loop blocked for ${longestMs.toFixed(0)} ms (${longestCpuMs.toFixed(0)} ms of processor time)`;
      const figures = `${describeAttack(neighbour.said, [service])}; ${blocked}`;
      process.stdout.write(`${expect.getState().currentTestName}: ${figures}\n`);
      expectServed(neighbour.said, [service]);
      return result;
    },
  };
}

/** Fills the feed with posts of characters of four bytes, of which 50 have 2 MB. */
export async function fillFeed({ url, key }: Victim): Promise<void> {
  const body = "\u{1f600}".repeat(10_000);
  for (let index = 0; index < 50; index++) {
    const { status } = await askRest(url, "posts", { key, body: { title: `Post ${index}`, body } });
    expect(status).toBe(201);
  }
}

// Many agents retry blindly while replicas and the database are killed. At the end every counter must agree with a recount,
// and everything that was acknowledged must be there exactly once.
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeKeyFile } from "../../src/log/key-file.ts";
import { Database } from "../../src/store/database/database.ts";
import { migrate } from "../../src/store/schema/migrate.ts";
import type { TestDatabase } from "../support/database.ts";
import { beginTestLog } from "../support/log.ts";
import { underLoad } from "../support/process.ts";
import { PublishedLog } from "../support/published-log.ts";
import type { HammerPost } from "./acknowledged.ts";
import { Cluster } from "./cluster.ts";
import { Load } from "./load.ts";

/** Somebody who also wrote posts, without keys. */
interface OtherWriter {
  readonly faults: string[];
  readonly statuses: Record<number, number>;
  readonly name: string;
  /** @returns the posts that are in the database */
  settle(db: TestDatabase): Promise<HammerPost[]>;
}

interface HammerOptions {
  db: TestDatabase;
  /** The same database on other servers of its cluster. */
  alsoIn?: readonly TestDatabase[];
  /** The settings of each replica. */
  replicas: readonly Record<string, string>[];
  /** What happens meanwhile. The agents stop when it is over. */
  chaos: (cluster: Cluster) => Promise<OtherWriter[]>;
  /** Whether work in the background may find no database. */
  mayBeAway: boolean;
  /** How many agents act at the same time. */
  agents: number;
  sealers: number;
  seed: number;
  log(line: string): void;
}

/** Begins the log before anybody writes. @returns the file of its key, in the folder */
async function beginLog(db: TestDatabase, folder: string): Promise<string> {
  const database = new Database({ address: db.config, connections: 2, timeoutMs: Number.POSITIVE_INFINITY });
  await migrate(database, { log: () => {} });
  await database.close();
  const path = join(folder, "key");
  await writeKeyFile(path, await beginTestLog(db, Date.now()));
  return path;
}

const operatorToken = "hammer-operator-token-0123456789-abcdef";
const moderators = 3;
const maxFollowers = 50;

/**
 * Runs the hammer, and reports what was done.
 * @returns what was lost, doubled or answered wrongly, in words
 */
export async function hammer(options: HammerOptions): Promise<string[]> {
  const { db, agents, sealers, seed, log } = options;
  // Replicas keep their folders when they are killed: the log goes on from there.
  const folder = mkdtempSync(join(tmpdir(), "stoa-hammer-log-"));
  // The account of the service must be able to write there.
  chmodSync(folder, 0o777);
  const keyFile = await beginLog(db, folder);
  const cluster = await Cluster.start(
    options.replicas.map((settings, index) => ({
      ...underLoad,
      STOA_DATA_DIR: join(folder, `replica-${index}`),
      STOA_LOG_KEY_FILE: keyFile,
      STOA_OPERATOR_TOKEN: operatorToken,
      STOA_MAX_CONNECTIONS_PER_ADDRESS: "4096",
      STOA_MAX_CONNECTIONS: "4096",
      ...settings,
    })),
  );
  const { urls } = cluster;
  const published = new PublishedLog(db, urls);
  const ended = new AbortController();
  const watching = published.watch(ended.signal);
  // Its error is shown at the end.
  watching.catch(() => {});
  try {
    const followers = Math.min(agents, maxFollowers);
    const load = new Load({ urls, operatorToken, seed, agents, sealers, moderators, followers });
    const { done, tally, ended: loadEnded } = load;
    // It ends early only by an error.
    const others = await Promise.race([options.chaos(cluster), loadEnded.then(() => [])]);
    await load.stop();
    log("recounting");
    for (const other of others) {
      done.posts.push(...(await other.settle(db)));
      log(`${other.name}: ${JSON.stringify(other.statuses)}`);
    }
    for (const { name } of await db.rows<{ name: string }>("SELECT name FROM agents"))
      if (others.some((other) => name.startsWith(`${other.name}-`))) done.agents.set(name, "");
    const faults = [...(await load.check(db, options.alsoIn)), ...others.flatMap((each) => each.faults)];
    log("checking the log");
    ended.abort();
    await watching;
    faults.push(...(await published.faults()));
    await cluster.stop();
    faults.push(...cluster.errors(options).map((line) => `a replica wrote: ${line}`));
    const acknowledged = { ...load.acknowledged, items: load.items, replayed: done.creates.length };
    log(JSON.stringify({ ...tally, faults: undefined, restarts: cluster.restarts, acknowledged }));
    return faults;
  } finally {
    ended.abort();
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The end of a report. */
export function verdictOf(faults: readonly string[]): string {
  return faults.length === 0
    ? "nothing lost, nothing doubled"
    : `${faults.length} faults:\n${faults.slice(0, 50).join("\n")}`;
}

// Many agents retry blindly while replicas and the database are killed. At the end every counter must agree with a recount,
// and everything that was acknowledged must be there exactly once.
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { writeKeyFile } from "../../src/log/key-file.ts";
import { Database } from "../../src/store/database/database.ts";
import { migrate } from "../../src/store/schema/migrate.ts";
import type { TestDatabase } from "../support/database.ts";
import { beginTestLog } from "../support/log.ts";
import { urlOf } from "../support/process.ts";
import { PublishedLog } from "../support/published-log.ts";
import { Acknowledged, type HammerPost } from "./acknowledged.ts";
import { HammerAgent } from "./agent.ts";
import { audit, auditFollowers, auditReplays } from "./audit.ts";
import { Caller, newTally, type Tally } from "./caller.ts";
import { Cluster } from "./cluster.ts";
import { Follower } from "./follower.ts";
import { Moderator } from "./moderator.ts";
import { Random } from "./random.ts";
import { Sealer } from "./sealer.ts";

/** Somebody who also wrote posts, without keys. */
export interface OtherWriter {
  readonly faults: string[];
  readonly statuses: Record<number, number>;
  readonly name: string;
  /** @returns the posts that are in the database */
  settle(db: TestDatabase): Promise<HammerPost[]>;
}

export interface HammerOptions {
  db: TestDatabase;
  /** The same database on other servers of its cluster. */
  alsoIn?: readonly TestDatabase[];
  /** The settings of each replica. By default there are two, on `db`. */
  replicas?: readonly Record<string, string>[];
  /** What happens meanwhile, instead of restarts at an interval. The agents stop when it is over. */
  chaos?: (cluster: Pick<Cluster, "urls" | "restart">) => Promise<OtherWriter[]>;
  /** How many agents act at the same time. */
  agents: number;
  sealers: number;
  /** How long they act, in milliseconds. Requests that are running then are finished. */
  durationMs?: number;
  /** The interval at which a replica is restarted, in milliseconds, by SIGKILL and SIGINT in turn. */
  restartEveryMs?: number;
  /** Kills the database server half-way. Its supervisor starts it again. */
  killDatabase?: (() => void) | undefined;
  seed: number;
  log(line: string): void;
}

export interface HammerReport extends Tally {
  acknowledged: Record<
    | "agents"
    | "communities"
    | "posts"
    | "comments"
    | "votes"
    | "acts"
    | "deletions"
    | "items"
    | "receipts"
    | "replayed",
    number
  >;
  restarts: number;
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

const token = "hammer-operator-token-0123456789-abcdef";

const moderatorCount = 3;
/** How many agents follow their inboxes. Each has a stream open all the time. */
const maxFollowers = 50;

/** Runs the hammer. The report's `faults` are empty if nothing was lost, doubled or answered wrongly. */
export async function hammer(options: HammerOptions): Promise<HammerReport> {
  const { db, alsoIn = [], seed, log } = options;
  const replicas = options.replicas ?? [1, 2].map(() => ({ STOA_DATABASE_URL: urlOf(db.config) }));
  // Replicas keep their folders when they are killed: the log goes on from there.
  const folder = mkdtempSync(join(tmpdir(), "stoa-hammer-log-"));
  // The account of the service must be able to write there.
  chmodSync(folder, 0o777);
  const keyFile = await beginLog(db, folder);
  const cluster = await Cluster.start(
    replicas.map((settings, index) => ({
      STOA_DATA_DIR: join(folder, `replica-${index}`),
      STOA_LOG_KEY_FILE: keyFile,
      STOA_OPERATOR_TOKEN: token,
      STOA_SITE_URL: "http://stoa.example",
      STOA_LOG_LEVEL: "warn",
      // All agents have the same address here.
      STOA_RATE_LIMITS: "off",
      STOA_MAX_CONNECTIONS_PER_ADDRESS: "4096",
      STOA_MAX_CONNECTIONS: "4096",
      ...settings,
    })),
  );
  const published = new PublishedLog(db, cluster.urls);
  const ended = new AbortController();
  const watching = published.watch(ended.signal);
  // Its error is shown at the end.
  watching.catch(() => {});
  try {
    const done = new Acknowledged();
    const tally = newTally();
    const random = new Random(seed);
    const fork = () => new Random(random.below(2 ** 32));
    const agents = Array.from({ length: options.agents }, (_, index) => {
      const ways = fork();
      return new HammerAgent(`a${index}`.padEnd(3, "x"), new Caller(cluster.urls, ways, tally), ways, done);
    });
    const sealers = Array.from(
      { length: options.sealers },
      (_, index) => new Sealer(`book-${index}`, cluster.urls, fork(), token),
    );
    const moderators = Array.from(
      { length: moderatorCount },
      (_, index) => new Moderator(index, moderatorCount, cluster.urls, fork(), done, token),
    );
    const followers = Array.from(
      { length: Math.min(options.agents, maxFollowers) },
      (_, index) => new Follower(`a${index}`.padEnd(3, "x"), cluster.urls, fork(), done),
    );
    const end = Date.now() + (options.durationMs ?? Number.POSITIVE_INFINITY);
    let isOver = false;
    const stopped = () => isOver || Date.now() >= end;
    const others: OtherWriter[] = [];
    const chaos =
      options.chaos === undefined
        ? disturb(cluster, options, end)
        : options
            .chaos(cluster)
            .then((found) => others.push(...found))
            .finally(() => {
              isOver = true;
            });
    const following = followers.map((each) => each.run());
    // If the chaos fails, they find no replica any more, and its error is the one to show.
    for (const each of following) each.catch(() => {});
    await Promise.all([...[...agents, ...sealers, ...moderators].map((each) => each.run(stopped)), chaos]);
    for (const each of followers) each.finish();
    await Promise.all(following);
    log("recounting");

    for (const other of others) {
      done.posts.push(...(await other.settle(db)));
      log(`${other.name}: ${JSON.stringify(other.statuses)}`);
    }
    const names = await db.rows<{ name: string }>("SELECT name FROM agents");
    for (const { name } of names)
      if (others.some((other) => name.startsWith(`${other.name}-`))) done.agents.set(name, "");
    const plainCaller = new Caller(cluster.urls, fork(), tally);
    const faults = [
      ...tally.faults,
      ...done.faults,
      ...[...sealers, ...moderators, ...followers, ...others].flatMap((each) => each.faults),
      ...(await auditFollowers(db, followers)),
      ...(await audit(db, done, sealers)),
      ...(await auditOthers(alsoIn, done, sealers)),
      ...(await auditReplays(plainCaller, done)),
      ...(await verifyChain(cluster)),
    ];
    log("checking the log");
    ended.abort();
    await watching;
    faults.push(...(await published.faults()));
    plainCaller.close();
    await cluster.stop();
    faults.push(
      ...cluster.errors({ mayBeAway: options.chaos !== undefined }).map((line) => `a replica wrote: ${line}`),
    );
    return {
      ...tally,
      faults,
      restarts: cluster.restarts,
      acknowledged: {
        agents: done.agents.size,
        communities: done.communities.length,
        posts: done.posts.length,
        comments: done.comments.length,
        votes: done.votes.size,
        acts: done.posts.reduce((sum, { acts }) => sum + acts, 0),
        deletions: [...done.posts, ...done.comments].filter(({ deleted }) => deleted).length,
        items: followers.reduce((sum, { seen }) => sum + seen.size, 0),
        receipts: sealers.reduce((sum, { sealed }) => sum + sealed.size, 0),
        replayed: done.creates.length,
      },
    };
  } finally {
    ended.abort();
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Restarts replicas in turn until `end`, and kills the database once. */
async function disturb(cluster: Cluster, options: HammerOptions, end: number): Promise<void> {
  const { durationMs = 0, restartEveryMs = durationMs } = options;
  const half = end - durationMs / 2;
  let killDatabase = options.killDatabase;
  for (let restarts = 0; ; ) {
    const left = end - Date.now() - restartEveryMs;
    if (left <= 0) return;
    await sleep(restartEveryMs);
    if (killDatabase !== undefined && Date.now() >= half) {
      options.log("killing the database");
      killDatabase();
      killDatabase = undefined;
      continue;
    }
    const signal = restarts % 3 === 2 ? "SIGINT" : "SIGKILL";
    options.log(`ending replica ${restarts % 2} by ${signal}`);
    await cluster.restart(restarts % 2, signal);
    restarts++;
  }
}

/** Audits the other servers of a cluster. */
async function auditOthers(servers: readonly TestDatabase[], done: Acknowledged, sealers: Sealer[]): Promise<string[]> {
  const faults: string[] = [];
  for (const server of servers) {
    const found = await audit(server, done, sealers);
    faults.push(...found.map((fault) => `at port ${server.config.port}: ${fault}`));
  }
  return faults;
}

async function verifyChain(cluster: Cluster): Promise<string[]> {
  const verdicts = await Promise.all(
    cluster.urls().map(async (url) => (await fetch(`${url}/house/verify`)).json() as Promise<{ verify_ok: boolean }>),
  );
  return verdicts
    .filter(({ verify_ok }) => verify_ok !== true)
    .map((verdict) => `the chain does not verify: ${JSON.stringify(verdict)}`);
}

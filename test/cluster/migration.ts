// The version before a migration serves on a cluster while this one migrates a large table there.
import { setTimeout as sleep } from "node:timers/promises";
import type { TestDatabase } from "../support/open-database.ts";
import { ServiceProcess, underLoad } from "../support/process.ts";
import { waitUntil } from "../support/wait.ts";
import { takeVersionBefore } from "../upgrade/older-version.ts";
import type { Clustered } from "./clustered.ts";
import { Pauses } from "./pauses.ts";
import { Prober } from "./prober.ts";

const posts = 20;
/** How many rows the largest table has. */
const comments = 300_000;
const rowsPerStatement = 20_000;
/** How long the new version may take to start, in milliseconds. */
const startMs = 300_000;
const everyMs = 50;

export interface MigrationTimes {
  /** From the start of the new version until all of its replicas serve. */
  startMs: number;
  /** The longest pauses between good writes and good reads of the older version meanwhile. */
  writesMs: number;
  readsMs: number;
  /** The replies by status. */
  writes: Record<number, number>;
  reads: Record<number, number>;
}

/** Starts two replicas of this version at the same time beside one of the version before. */
export async function measureMigration(
  { urlOf, databases, servers }: Clustered,
  { migration, log }: { migration: string; log(line: string): void },
): Promise<{ times: MigrationTimes; faults: string[] }> {
  const older = takeVersionBefore(migration);
  const replicas: ServiceProcess[] = [];
  const start = (replica: number, program?: string) => {
    const settings = { ...underLoad, STOA_DATABASE_URL: urlOf(replica) };
    const service = new ServiceProcess(settings, program === undefined ? {} : { program });
    replicas.push(service);
    return service.url(startMs);
  };
  try {
    const url = await start(0, older.program);
    const writer = new Prober("writes", () => url);
    await writer.run(() => writer.acknowledged >= posts);
    const [db] = databases;
    await fill(db);
    log(`${servers.name}: ${comments} comments are there`);

    const reader = new Reader(`${url}/api/v1/posts/${writer.ids[0]}`);
    let isOver = false;
    const running = [writer, reader].map((each) => each.run(() => isOver));
    for (const { pauses } of [writer, reader]) pauses.mark(Number.POSITIVE_INFINITY);
    const begun = performance.now();
    let took: number;
    try {
      await Promise.all([start(1), start(2)]);
      took = performance.now() - begun;
      // Calls that were held up may still be running.
      const end = Date.now();
      for (const { pauses } of [writer, reader])
        await waitUntil("a further call", () => pauses.lastGoodAt > end, startMs);
    } finally {
      isOver = true;
      await Promise.all(running);
    }
    const names = await db.rows<{ name: string }>("SELECT name FROM schema_migrations WHERE finished = 1");
    if (!names.some(({ name }) => name === migration)) throw new Error(`${migration} was not run`);
    await writer.settle(db);
    return {
      times: {
        startMs: took,
        writesMs: writer.pauses.longestSoFarMs,
        readsMs: reader.pauses.longestSoFarMs,
        writes: writer.statuses,
        reads: reader.statuses,
      },
      faults: [...writer.faults, ...reader.faults],
    };
  } finally {
    for (const replica of replicas) await replica.end("SIGTERM");
    older.remove();
  }
}

/** Reads a post again and again. */
class Reader {
  readonly statuses: Record<number, number> = {};
  readonly faults: string[] = [];
  readonly pauses = new Pauses();
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async run(stopped: () => boolean): Promise<void> {
    while (!stopped()) {
      const begun = Date.now();
      const reply = await fetch(this.#url);
      const text = await reply.text();
      this.statuses[reply.status] = (this.statuses[reply.status] ?? 0) + 1;
      if (reply.status === 200) this.pauses.good(begun);
      else if (reply.status !== 503) this.faults.push(`${reply.status} ${text}`);
      await sleep(everyMs);
    }
  }
}

/** Adds comments to the posts that are there. */
async function fill({ rows }: TestDatabase): Promise<void> {
  const columns = "post_id, author_id, body, created_at";
  await rows(
    `INSERT INTO comments (${columns}) SELECT id, author_id, REPEAT('some words ', 20), created_at FROM posts`,
  );
  for (let count = posts; count < comments; ) {
    const more = Math.min(count, rowsPerStatement, comments - count);
    await rows(`INSERT INTO comments (${columns}) SELECT ${columns} FROM comments LIMIT ${more}`);
    count += more;
  }
}

import { join } from "node:path";
import { parseArgs } from "node:util";
import { fullPopulation, type Population, quickPopulation } from "./population.ts";

export const usage = `npm run bench -- [options]
  --quick            50,000 posts and short rounds: about a minute
  --only <case,…>    measure only these cases: feed-hot, feed-new, feed-top, post, inbox, create,
                     create-one (all in one community), vote, vote-comment, vote-hot
  --ledger           measure the ledger on a chain of 1,000,000 receipts, 20,000 with --quick;
                     its cases are verify, receipt, stream, seal
  --pages            compare the pages with the API's replies with the same content; its cases are home, new, post, atom
  --limits           compare the service with rate limits and without; its cases are those of --only, and receipt
  --log              compare the service with the board's log and without, on two databases of one server; its cases are those
                     of --only, comment and edit. It also measures the import, proofs, tiles, mirrors, the time to a served
                     checkpoint, starts and memory
  --search           measure searches; its target is a median of 50 ms for two words, each in one post of a hundred
  --facade           compare the facade with a bare route that sends the same bytes as the feed, and with hand-written routes
                     where no two callers read the same; its cases are feed-hot, post, receipt
  --rpc              compare gRPC without a database with @grpc/grpc-js
  --watchers         measure 1,000 agents that watch their inboxes; the targets are 40 MiB and a second
  --followers        compare posts in a community with 10,000 followers and in one without; the target is 1.05 times the time
  --growth           compare the latency of reads and writes on boards of different sizes; the target is 1.2 times the
                     smallest board's. Its cases are those of bench/growth/cases.ts
  --posts <n,…>      the sizes for --growth, the smallest first (default: 10,000, 1,000,000 and as many as the disk has space
                     for, up to 10,000,000)
  --idempotency      compare creates with an idempotency key and without
  --protocol <p,…>   compare only these with the hand-written routes: rest, connect-json, connect-proto, grpc
  --rounds <n>       the number of rounds for each case and protocol; the result is the median
  --seconds <n>      the duration of a round
  --profile          write a CPU profile of the service to bench/results/
  --reseed           create the data again
STOA_BENCH_DATA_DIR sets the folder of the private database (default: bench/.data). STOA_BENCH_DATABASE_URL sets a database on
another server to use instead; the bench owns that database.`;

export interface Options {
  population: Population;
  only: string[] | undefined;
  protocols: string[] | undefined;
  rounds: number;
  /** How long a round and a warm-up last. */
  seconds: number;
  warmUpSeconds: number;
  profile: boolean;
  reseed: boolean;
  dataDir: string;
  databaseUrl: string | undefined;
  resultsDir: string;
  /** Measure the ledger. */
  ledger: boolean;
  /** The length of the ledger's chain. */
  receipts: number;
  /** Measure the cost of the facade itself. */
  facade: boolean;
  /** Measure the pages. */
  pages: boolean;
  /** Measure the cost of rate limits. */
  limits: boolean;
  /** Measure the cost of the board's log. */
  log: boolean;
  /** Measure gRPC without a database. */
  rpc: boolean;
  /** Measure searches. */
  search: boolean;
  /** Measure agents that watch their inboxes. */
  watchers: boolean;
  /** Measure what followers cost a writer. */
  followers: boolean;
  /** Compare boards of these sizes, or of the default sizes. */
  growth: { posts: number[] | undefined } | undefined;
  /** Measure only the cost of an idempotency key. */
  idempotency: boolean;
}

/** The number of simultaneous calls: connections over HTTP/1.1, streams over HTTP/2. */
export const concurrency = 32;

/** Enough memory of the database server for all data of one board, so that the disk is not measured. */
export const fullBufferPool = "3G";

/** Reads the command line and the environment. @throws Error that says what is wrong. */
export function readOptions(args: string[], environment: NodeJS.ProcessEnv): Options {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string" },
      protocol: { type: "string" },
      rounds: { type: "string" },
      seconds: { type: "string" },
      profile: { type: "boolean", default: false },
      reseed: { type: "boolean", default: false },
      ledger: { type: "boolean", default: false },
      facade: { type: "boolean", default: false },
      pages: { type: "boolean", default: false },
      limits: { type: "boolean", default: false },
      log: { type: "boolean", default: false },
      rpc: { type: "boolean", default: false },
      search: { type: "boolean", default: false },
      watchers: { type: "boolean", default: false },
      followers: { type: "boolean", default: false },
      growth: { type: "boolean", default: false },
      posts: { type: "string" },
      idempotency: { type: "boolean", default: false },
    },
  });
  return {
    population: values.quick ? quickPopulation : fullPopulation,
    only: values.only?.split(","),
    protocols: values.protocol?.split(","),
    rounds: positive("rounds", values.rounds) ?? (values.quick ? 3 : 4),
    seconds: positive("seconds", values.seconds) ?? (values.quick ? 0.5 : 3),
    // V8 compiles what a load uses in about 15 s. A service runs for months, so it is not measured before.
    warmUpSeconds: values.quick ? 0.3 : 10,
    profile: values.profile,
    reseed: values.reseed,
    dataDir: environment.STOA_BENCH_DATA_DIR || join(import.meta.dirname, ".data"),
    databaseUrl: environment.STOA_BENCH_DATABASE_URL || undefined,
    resultsDir: join(import.meta.dirname, "results"),
    pages: values.pages,
    limits: values.limits,
    log: values.log,
    rpc: values.rpc,
    search: values.search,
    watchers: values.watchers,
    followers: values.followers,
    growth: values.growth ? { posts: sizes(values.posts) } : undefined,
    idempotency: values.idempotency,
    ledger: values.ledger,
    receipts: values.quick ? 20_000 : 1_000_000,
    facade: values.facade,
  };
}

/** Returns the items with the given names, or all items. @throws Error for an unknown name */
export function choose<Named extends { name: string }>(
  what: string,
  all: Named[],
  names: string[] | undefined,
): Named[] {
  const unknown = names?.find((name) => !all.some((each) => each.name === name));
  if (unknown !== undefined) {
    throw new Error(`There is no ${what} ${unknown}; there are ${all.map(({ name }) => name).join(", ")}.`);
  }
  return names === undefined ? all : all.filter(({ name }) => names.includes(name));
}

/** @throws Error unless the sizes rise */
function sizes(text: string | undefined): number[] | undefined {
  if (text === undefined) return undefined;
  const all = text.split(",").map(Number);
  const rise = all.every((size, index) => size >= 10_000 && size > (all[index - 1] ?? 0));
  if (!rise || all.length < 2) throw new Error("--posts must be two or more rising numbers, from 10000 on.");
  return all;
}

function positive(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!(value > 0 && value <= 600)) throw new Error(`--${name} must be a number above 0, and at most 600.`);
  return value;
}

import type { TestDatabase } from "../support/database.ts";
import { waitUntil } from "../support/wait.ts";
import { Acknowledged } from "./acknowledged.ts";
import { HammerAgent } from "./agent.ts";
import { audit, auditFollowers, auditReplays } from "./audit.ts";
import { Caller, newTally } from "./caller.ts";
import { Follower } from "./follower.ts";
import { moderate } from "./moderator.ts";
import { Random } from "./random.ts";
import { sealSessions } from "./sealer.ts";

export interface LoadOptions {
  /** The addresses of the replicas that run. */
  urls: () => string[];
  operatorToken: string;
  seed: number;
  /** How many act at the same time. */
  agents?: number;
  sealers?: number;
  moderators?: number;
  /** How many agents follow their inboxes. Each has a stream open all the time. */
  followers?: number;
  /** See `Caller`. */
  mixesVersions?: boolean;
}

/** Agents and operators on one or more replicas. They repeat every request until it has a definite reply. */
export class Load {
  readonly done = new Acknowledged();
  readonly tally = newTally();
  isStopped = false;
  /** Resolves after `stop`, and rejects before it if somebody cannot go on. */
  readonly ended: Promise<unknown>;
  readonly #urls: () => string[];
  readonly #plainCaller: Caller;
  readonly #followers: Follower[];

  constructor({ urls, operatorToken, seed, mixesVersions, ...counts }: LoadOptions) {
    const { done, tally } = this;
    const { agents = 6, sealers = 1, moderators = 0, followers = 0 } = counts;
    const random = new Random(seed);
    const fork = () => ({ urls, done, random: new Random(random.below(2 ** 32)) });
    const many = <Each>(length: number, make: (index: number) => Each) => Array.from({ length }, (_, n) => make(n));
    const nameOf = (index: number) => `a${index}`.padEnd(3, "x");
    this.#urls = urls;
    this.#plainCaller = new Caller(fork(), tally, mixesVersions);
    const stopped = () => this.isStopped;
    const acting = [
      ...many(agents, (index) => {
        const world = fork();
        return new HammerAgent(nameOf(index), new Caller(world, tally, mixesVersions), world).run(stopped);
      }),
      ...many(sealers, (index) => sealSessions(`book-${index}`, fork(), operatorToken, stopped)),
      ...many(moderators, (index) => moderate(({ id }) => id % moderators === index, fork(), operatorToken, stopped)),
    ];
    this.#followers = many(followers, (index) => new Follower(nameOf(index), fork()));
    const following = this.#followers.map((each) => each.run());
    this.ended = Promise.all([...acting, ...following]);
    // Followers read what is left once nobody acts any more.
    const finish = () => {
      for (const each of this.#followers) each.finish();
    };
    Promise.all(acting).then(finish, finish);
  }

  /** How many writes were acknowledged. */
  get acknowledged() {
    const { agents, communities, posts, comments, votes, sealed } = this.done;
    return {
      agents: agents.size,
      communities: communities.length,
      posts: posts.length,
      comments: comments.length,
      votes: votes.size,
      acts: posts.reduce((sum, { acts }) => sum + acts, 0),
      deletions: [...posts, ...comments].filter(({ deleted }) => deleted).length,
      receipts: sealed.size,
    };
  }

  /** What was answered wrongly so far. */
  get faults(): string[] {
    return [...this.tally.faults, ...this.done.faults];
  }

  /** How many items followers got. */
  get items(): number {
    return this.#followers.reduce((sum, { seen }) => sum + seen.size, 0);
  }

  /** Resolves once this many further posts and sessions were acknowledged. */
  async more(posts: number, sessions = 1): Promise<void> {
    const before = this.acknowledged;
    const isThere = () => {
      const now = this.acknowledged;
      return now.posts >= before.posts + posts && now.receipts >= before.receipts + sessions;
    };
    await waitUntil("further writes", isThere, 120_000);
  }

  /** Stops after the running requests. */
  async stop(): Promise<void> {
    this.isStopped = true;
    await this.ended;
  }

  /**
   * Compares the database with the replies, after `stop`.
   * @param alsoIn the same database on other servers of its cluster
   * @returns descriptions of what was lost, doubled or answered wrongly
   */
  async check(db: TestDatabase, alsoIn: readonly TestDatabase[] = []): Promise<string[]> {
    const faults = [...(await auditFollowers(db, this.#followers)), ...(await audit(db, this.done))];
    for (const server of alsoIn) {
      const found = await audit(server, this.done);
      faults.push(...found.map((fault) => `at port ${server.config.port}: ${fault}`));
    }
    faults.push(...(await auditReplays(this.#plainCaller, this.done)));
    this.#plainCaller.close();
    for (const url of this.#urls()) {
      const verdict = (await (await fetch(`${url}/house/verify`)).json()) as { verify_ok: boolean };
      if (verdict.verify_ok !== true) faults.push(`the chain does not verify: ${JSON.stringify(verdict)}`);
    }
    return [...this.faults, ...faults];
  }
}

import { Acknowledged } from "../hammer/acknowledged.ts";
import { HammerAgent } from "../hammer/agent.ts";
import { audit, auditReplays } from "../hammer/audit.ts";
import { Caller, newTally } from "../hammer/caller.ts";
import { Random } from "../hammer/random.ts";
import { Sealer } from "../hammer/sealer.ts";
import type { TestDatabase } from "../support/database.ts";
import { waitUntil } from "../support/wait.ts";

const agentCount = 6;

/** The hammer's agents and its sealer on one service. They repeat every request until it has a definite reply. */
export class Load {
  readonly done = new Acknowledged();
  readonly #tally = newTally();
  readonly #sealer: Sealer;
  readonly #random: Random;
  readonly #urls: () => string[];
  readonly #running: Promise<unknown>;
  readonly #mixesVersions: boolean;
  #stopped = false;

  /** @param mixesVersions see `Caller` */
  constructor(urls: () => string[], operatorToken: string, seed: number, mixesVersions = false) {
    this.#urls = urls;
    this.#mixesVersions = mixesVersions;
    const random = new Random(seed);
    this.#random = random;
    const fork = () => new Random(random.below(2 ** 32));
    const agents = Array.from({ length: agentCount }, (_, index) => {
      const ways = fork();
      return new HammerAgent(`load-${index}`, new Caller(urls, ways, this.#tally, mixesVersions), ways, this.done);
    });
    this.#sealer = new Sealer("book", urls, fork(), operatorToken);
    this.#running = Promise.all([...agents, this.#sealer].map((each) => each.run(() => this.#stopped)));
  }

  get isStopped(): boolean {
    return this.#stopped;
  }

  /** The replies by status. */
  get statuses(): Readonly<Record<number, number>> {
    return this.#tally.statuses;
  }

  /** The acknowledged receipts, by book. */
  get sealed(): Sealer["sealed"] {
    return this.#sealer.sealed;
  }

  /** What was answered wrongly. */
  get faults(): string[] {
    return [...this.#tally.faults, ...this.done.faults, ...this.#sealer.faults];
  }

  /** How many writes were acknowledged. */
  get acknowledged(): number {
    const { agents, communities, posts, comments, votes } = this.done;
    return [agents, votes].reduce((sum, { size }) => sum + size, communities.length + posts.length + comments.length);
  }

  /** Resolves once this many further posts and sessions were acknowledged. */
  async more(posts: number, sessions = 1): Promise<void> {
    const wanted = [this.done.posts.length + posts, this.#sealer.sealed.size + sessions] as const;
    const isThere = () => this.done.posts.length >= wanted[0] && this.#sealer.sealed.size >= wanted[1];
    await waitUntil("further writes", isThere, 120_000);
  }

  /** Stops after the running requests. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  /** Call it after `stop`. @returns descriptions of what was lost, doubled or answered wrongly */
  async check(db: TestDatabase): Promise<string[]> {
    const plainCaller = new Caller(this.#urls, this.#random, this.#tally, this.#mixesVersions);
    const replays = await auditReplays(plainCaller, this.done);
    plainCaller.close();
    return [...this.faults, ...(await audit(db, this.done, [this.#sealer])), ...replays];
  }
}

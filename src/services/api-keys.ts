import { hash } from "node:crypto";
import { findHolders, type Holder, maxKeysAtOnce } from "../board/agents.ts";
import type { Board, Reader } from "../board/board.ts";
import { isApiKey } from "../board/keys.ts";
import type { ShowingCall } from "../calls/service-table.ts";
import { isWrite } from "../contract/rules.ts";
import { RecentMap } from "../rate-limits/recent-map.ts";
import { Batch } from "./batch.ts";

/** How long a key that was good counts for its agent without being looked up, in milliseconds. */
const knownMs = 600_000;
/** How long a key that nobody has may count as wrong without being looked up, in milliseconds. */
const wrongMs = 10_000;
/** How many keys of each kind are remembered, by their hashes: some 4 MB in all. */
const maxRemembered = 20_000;
/** How many look-ups of unknown keys run at a time for reads, and as many for writes. */
const concurrency = 2;
const neverAborted = new AbortController().signal;

type LookUps = Batch<Holder | undefined>;

/** An API key that somebody shows. */
export interface ShownKey {
  readonly text: string;
  /** The SHA-256 of it, in base64. */
  readonly hash: string;
}

/**
 * The API keys that this process has seen.
 *
 * An unknown key may be the first use of a good one. It is looked up even if its address has sent many wrong keys: an
 * attacker behind the same address must not lock an agent out. An attacker cannot load the database either, because unknown
 * keys are looked up together (see `Batch`): at most four statements run at a time, each for up to 64 keys, and the process
 * cannot receive keys faster. Good keys and repeated wrong ones cost no look-up at all.
 *
 * A call that writes has its key looked up on a connection for writes, any other request on one for reads. So neither has
 * to wait for the other.
 */
export class ApiKeys {
  readonly #board: Board;
  readonly #known = new RecentMap<string, { agent: number; until: number }>(maxRemembered);
  readonly #wrong = new RecentMap<string, number>(maxRemembered);
  readonly #lookUps: { reads: LookUps; writes: LookUps };

  constructor(board: Board) {
    this.#board = board;
    const lookUps = (open: () => Reader): LookUps =>
      new Batch(
        (hashes) => {
          const keyHashes = hashes.map((each) => Buffer.from(each, "base64"));
          return findHolders(open(), keyHashes, board.now());
        },
        { size: maxKeysAtOnce, concurrency },
      );
    this.#lookUps = {
      reads: lookUps(() => board.read(neverAborted)),
      writes: lookUps(() => board.readForWrite(neverAborted)),
    };
  }

  /** The API key of an Authorization header; undefined where it holds nothing that could be one. */
  shown(authorization: string | null): ShownKey | undefined {
    const text = bearerOf(authorization);
    return text !== undefined && isApiKey(text) ? { text, hash: hash("sha256", text, "base64") } : undefined;
  }

  /** The agent whose key this was within the last ten minutes, as far as this process knows. */
  agentOf({ hash }: ShownKey): number | undefined {
    const entry = this.#known.get(hash);
    return entry !== undefined && this.#board.now() <= entry.until ? entry.agent : undefined;
  }

  /**
   * Finds whose key this is, together with other unknown keys.
   * @param mayBeRemembered whether a key that was wrong a moment ago need not be looked up again
   * @param call the call that shows the key; undefined for a request that does not go on to the database
   */
  async findUnknown(
    { hash }: ShownKey,
    mayBeRemembered: boolean,
    call: ShowingCall | undefined,
  ): Promise<Holder | undefined> {
    // The time of the call begins here. The look-up itself is not the call's alone.
    if (call !== undefined) this.#board.beginCall(call.signal);
    const now = this.#board.now();
    if (mayBeRemembered && now <= (this.#wrong.get(hash) ?? 0)) return undefined;
    const lookUps = call !== undefined && isWrite(call.rpc) ? this.#lookUps.writes : this.#lookUps.reads;
    const holder = await lookUps.find(hash);
    if (holder === undefined) this.#wrong.set(hash, now + wrongMs);
    else this.#remember(hash, holder);
    return holder;
  }

  /** Finds whose key this is now, by a statement of its own. */
  async find({ hash }: ShownKey, { rpc, signal }: ShowingCall): Promise<Holder | undefined> {
    this.#board.beginCall(signal);
    const reader = isWrite(rpc) ? this.#board.readForWrite(signal) : this.#board.read(signal);
    const [holder] = await findHolders(reader, [Buffer.from(hash, "base64")], this.#board.now());
    if (holder === undefined) this.#known.delete(hash);
    else this.#remember(hash, holder);
    return holder;
  }

  /** Whether a text is still a good API key of an agent. It is looked up now, together with other keys. */
  async isGood(text: string, agent: number): Promise<boolean> {
    const holder = await this.#lookUps.reads.find(hash("sha256", text, "base64"));
    return holder !== undefined && holder.agent.id === agent && holder.standing !== "past";
  }

  /** To be called when this process has given out a key, and the transaction is committed. */
  issued(apiKey: string, agent: number): void {
    const id = hash("sha256", apiKey, "base64");
    this.#wrong.delete(id);
    this.#known.set(id, { agent, until: this.#board.now() + knownMs });
  }

  #remember(hash: string, { agent, standing }: Holder): void {
    if (standing === "past") this.#known.delete(hash);
    else this.#known.set(hash, { agent: agent.id, until: this.#board.now() + knownMs });
  }
}

/** The secret of an Authorization header of the scheme Bearer. */
export function bearerOf(authorization: string | null): string | undefined {
  return authorization === null ? undefined : /^Bearer +([^ ]+) *$/i.exec(authorization)?.[1];
}

import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { Access } from "../../gen/stoa/v1/options_pb.js";
import { findHolders, type Holder, maxKeysAtOnce, noteKeyUse, suspended } from "../board/agents.ts";
import type { Board, LookUps } from "../board/board.ts";
import { apiKeyForm } from "../board/keys.ts";
import { unauthorized } from "../calls/call.ts";
import type { ShowingCall } from "../calls/service-table.ts";
import { rulesOf } from "../contract/rules.ts";
import type { StoaError } from "../errors.ts";

/** How long a key that was good counts for its agent without being looked up, in milliseconds. */
const knownMs = 600_000;
/** How long a key that nobody has may count as wrong without being looked up, in milliseconds. */
const wrongMs = 10_000;
/** How many keys of each kind are remembered, by their hashes: some 4 MB in all. */
const maxRemembered = 20_000;
const neverAborted = new AbortController().signal;

/** A call that writes has its key looked up on a reserved connection, any other request on an ordinary one. */
type KeyLookUps = LookUps<string, Holder>;

/** What is remembered of a good key. */
interface KnownKey {
  readonly agent: number;
  readonly until: number;
  /** Whether no use of it is recorded: its registration may lapse. */
  isUnused: boolean;
}

/** An API key that somebody shows. */
export interface ShownKey {
  readonly text: string;
  /** The SHA-256 of it, in base64. */
  readonly hash: string;
}

/**
 * The API keys that this process has seen.
 *
 * Keys are looked up together (see `Database.lookUp`): callers that wait share a statement. No answer is older than the request
 * that asked.
 *
 * An unknown key may be a good key that is used for the first time. It is looked up even if its address has sent many wrong
 * keys: an attacker behind the same address must not lock an agent out. Unknown keys have look-ups of their own, so that known
 * ones do not wait for them. An attacker cannot overload the database either: at most four statements run for unknown keys at
 * a time, each for up to 64 keys, and the process cannot receive keys faster. Repeated wrong keys cost no look-up at all.
 */
export class ApiKeys {
  readonly #board: Board;
  readonly #known = new LRUCache<string, KnownKey>({ max: maxRemembered });
  readonly #wrong = new LRUCache<string, number>({ max: maxRemembered });
  readonly #unknownLookUps: KeyLookUps;
  readonly #knownLookUps: KeyLookUps;

  constructor(board: Board) {
    this.#board = board;
    const lookUps = (): KeyLookUps =>
      board.lookUps(maxKeysAtOnce, (db, hashes) => findHolders(db, hashes, board.now()));
    this.#unknownLookUps = lookUps();
    this.#knownLookUps = lookUps();
  }

  /** The API key of an Authorization header; undefined if it holds nothing that could be one. */
  shown(authorization: string): ShownKey | undefined {
    const text = bearerOf(authorization);
    return text !== undefined && apiKeyForm.test(text) ? shownKey(text) : undefined;
  }

  /** The agent whose key this was within the last ten minutes, as far as this process knows. */
  agentOf({ hash }: ShownKey): number | undefined {
    const entry = this.#known.get(hash);
    if (entry === undefined || this.#board.now() > entry.until) return undefined;
    if (entry.isUnused) this.#noteUse(entry);
    return entry.agent;
  }

  /**
   * Finds whose unknown key this is; undefined if it is nobody's.
   * @param mayBeRemembered whether a key that was wrong a moment ago need not be looked up again
   * @param call the call that shows the key; undefined for a request that does not go on to the database
   */
  async findUnknown(
    { hash }: ShownKey,
    mayBeRemembered: boolean,
    call: ShowingCall | undefined,
  ): Promise<Holder | undefined> {
    const signal = this.#begin(call);
    const now = this.#board.now();
    if (mayBeRemembered && now <= (this.#wrong.get(hash) ?? 0)) return undefined;
    const holder = await chosen(this.#unknownLookUps, call)(signal, hash);
    if (holder === undefined) this.#wrong.set(hash, now + wrongMs);
    else {
      const entry = this.#remember(hash, holder);
      // Other calls record it themselves, before they are made.
      const isPublic = call === undefined || rulesOf(call.rpc).access === Access.PUBLIC;
      if (entry?.isUnused && isPublic) this.#noteUse(entry);
    }
    return holder;
  }

  /** Finds whose key this is now; undefined if it is nobody's. */
  async find({ hash }: ShownKey, call: ShowingCall): Promise<Holder | undefined> {
    const holder = await chosen(this.#knownLookUps, call)(this.#begin(call), hash);
    if (holder === undefined) this.#known.delete(hash);
    else this.#remember(hash, holder);
    return holder;
  }

  /**
   * Why streams that an agent has opened by this key must end; undefined while they may go on. The key is looked up anew.
   * @returns StoaError `unauthorized` if the key is not the agent's any more, `forbidden` while the agent is suspended
   */
  async refusalOfStreams({ hash }: ShownKey, agent: number): Promise<StoaError | undefined> {
    const holder = await this.#knownLookUps.reads(neverAborted, hash);
    if (holder?.agent.id !== agent || holder.standing === "past") return unauthorized(Access.AGENT);
    const { suspension } = holder;
    const isSuspended = suspension && (suspension.endsAt === null || this.#board.now() < suspension.endsAt);
    return isSuspended ? suspended(suspension) : undefined;
  }

  /** Begins the time of a call. A look-up that belongs to no call has its own. */
  #begin(call: ShowingCall | undefined): AbortSignal {
    if (call === undefined) return neverAborted;
    this.#board.beginCall(call.signal);
    return call.signal;
  }

  /** To be called when this process has given out a key, and the transaction is committed. */
  issued(apiKey: string, agent: number, isUnused = false): void {
    const id = hash("sha256", apiKey, "base64");
    this.#wrong.delete(id);
    this.#known.set(id, { agent, until: this.#board.now() + knownMs, isUnused });
  }

  #remember(hash: string, { agent, standing, isUnused }: Holder): KnownKey | undefined {
    if (standing === "past") {
      this.#known.delete(hash);
      return undefined;
    }
    const entry = { agent: agent.id, until: this.#board.now() + knownMs, isUnused };
    this.#known.set(hash, entry);
    return entry;
  }

  /** Records that a key is used by a request that does not wait for it: a public read. If that fails, the next use does it. */
  #noteUse(entry: KnownKey): void {
    entry.isUnused = false;
    noteKeyUse(this.#board, entry.agent).catch(() => {
      entry.isUnused = true;
    });
  }
}

/** What look-ups need of an API key. */
export function shownKey(text: string): ShownKey {
  return { text, hash: hash("sha256", text, "base64") };
}

function chosen({ reads, writes }: KeyLookUps, call: ShowingCall | undefined): KeyLookUps["reads"] {
  return call !== undefined && rulesOf(call.rpc).isWrite ? writes : reads;
}

/** The secret of an Authorization header of the scheme Bearer. */
export function bearerOf(authorization: string | null): string | undefined {
  return authorization === null ? undefined : /^Bearer +([^ ]+) *$/i.exec(authorization)?.[1];
}

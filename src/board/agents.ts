import { notFound, StoaError } from "../errors.ts";
import {
  type AgentRow,
  changeKey,
  findAgent,
  findAgentByName,
  findKeyHolders,
  insertAgent,
  type KeyHolder,
  type OwnAgentRow,
  putBio,
} from "../store/tables/agents.ts";
import { listPostsByAuthor, type PostRow } from "../store/tables/posts.ts";
import { keyLifetimeMs } from "../store/tables/reply-check.ts";
import {
  erasedName,
  findSuspendedHolders,
  findSuspension,
  lockAgentById,
  type SuspendedKeyHolder,
  type Suspension,
} from "../store/tables/suspensions.ts";
import { putKeyUse } from "../store/tables/unused-agents.ts";
import type { Board, Queryable, Unit } from "./board.ts";
import { createApiKey, hashApiKey } from "./keys.ts";
import { commitToEdit, commitToNew, logCreation, logEdit } from "./logged/entries.ts";
import { addToSearch, updateInSearch } from "./search/index-items.ts";

export { type AgentRow, maxKeysAtOnce } from "../store/tables/agents.ts";
export { erasedName, type Suspension } from "../store/tables/suspensions.ts";

/** The agent that makes a call; the caller. */
export interface Caller {
  id: number;
  name: string;
  resident: number | null;
  /** In milliseconds since 1970 (UTC). */
  createdAt: number;
  /** The API key of the request. Only its hash may be stored. Neither is logged. */
  apiKey: string;
}

/** How a key stands with its agent: it is the current one, or the one before it, in its grace or past it. */
export type KeyStanding = "current" | "grace" | "past";

const namePattern = /^[A-Za-z0-9][A-Za-z0-9_-]{2,31}$/;
/**
 * Names that nobody can register, in lower case and without hyphens and underscores. The first would hide behind the route
 * /agents/register; under the others, an agent would seem to speak for the board, or to be nobody. Agents that have such
 * names keep them.
 */
const reservedNames: ReadonlySet<string> = new Set([
  "register",
  ...["admin", "admins", "administrator", "mod", "mods", "moderator", "moderators", "operator", "operators", "owner"],
  ...[
    "board",
    "clerk",
    "desk",
    "house",
    "ledger",
    "official",
    "root",
    "security",
    "staff",
    "stoa",
    "support",
    "system",
  ],
  ...["all", "anonymous", "deleted", "erased", "everyone", "nobody", "none", "null", "removed", "undefined", "unknown"],
]);

/** How long a registration stands whose key is not used, in milliseconds: as long as its idempotency key is known. */
export const unusedLifetimeMs = keyLifetimeMs;

/**
 * Registers an agent; `input` has passed the field rules.
 * @param replyId the stored response that holds the key; it is erased when the key is first used
 * @returns the agent and its API key, which only that stored response can show again
 * @throws StoaError `name_taken`; names are unique without regard to case
 */
export async function registerAgent(
  unit: Unit,
  input: { name: string; resident: number | null; bio: string },
  replyId: Buffer | null,
): Promise<{ agent: AgentRow; apiKey: string }> {
  const { tx, now } = unit;
  const nameKey = input.name.toLowerCase();
  const apiKey = createApiKey();
  if (reservedNames.has(nameKey.replace(/[-_]/g, ""))) {
    throw new StoaError("name_taken", `The name ${input.name} is reserved.`, { field: "name" });
  }
  const keyHash = hashApiKey(apiKey);
  const { name, resident, bio } = input;
  const commitment = commitToNew(unit, "agent", { bio, name, resident });
  const salt = commitment?.salt ?? null;
  const lapsesAt = now + unusedLifetimeMs;
  const id = await insertAgent(tx, { ...input, nameKey, keyHash, keyReply: replyId, createdAt: now, lapsesAt, salt });
  if (id === undefined) throw new StoaError("name_taken", `The name ${input.name} is taken.`, { field: "name" });
  await addToSearch(tx, "agents", id, { title: input.name, body: input.bio });
  const counts = { posts: 0, comments: 0, karma: 0 };
  const agent = {
    ...input,
    ...counts,
    id,
    created_at: now,
    bio_edited_at: null,
    suspended_for: null,
    suspended_until: null,
  };
  logCreation(unit, "agent", agent, commitment);
  return { agent, apiKey };
}

/** The agent whose API key this is or was until its last rotation. */
export interface Holder {
  agent: Omit<Caller, "apiKey">;
  standing: KeyStanding;
  /** The reply that may hold the key. */
  replyId: Buffer | null;
  /** Whether the agent has not used its key since it registered. */
  isUnused: boolean;
  /** Set if the agent is suspended, or was until its suspension ended. */
  suspension?: Suspension;
}

/**
 * Finds the agents that hold API keys.
 * @param hashes the SHA-256 of 1 to `maxKeysAtOnce` different keys, in base64
 * @param now in milliseconds since 1970 (UTC)
 * @returns the holders by these hashes; a key that nobody has is left out
 */
export async function findHolders(db: Queryable, hashes: readonly string[], now: number): Promise<Map<string, Holder>> {
  const keyHashes = hashes.map((each) => Buffer.from(each, "base64"));
  const holders = new Map<string, Holder>();
  for (const row of await findKeyHolders(db, keyHashes)) holders.set(row.hash.toString("base64"), toHolder(row, now));
  if (holders.size === hashes.length) return holders;
  // The keys of suspended agents are kept elsewhere, so that good keys need no second look.
  const unknown = keyHashes.filter((each) => !holders.has(each.toString("base64")));
  for (const row of await findSuspendedHolders(db, unknown)) {
    holders.set(row.hash.toString("base64"), toHolder(row, now));
  }
  return holders;
}

/** Records that an agent has used its key, so that its registration does not lapse. No request can end this. */
export async function noteKeyUse(board: Board, agentId: number): Promise<void> {
  await board.write(new AbortController().signal, ({ tx }) => putKeyUse(tx, agentId, null));
}

function toHolder(row: KeyHolder | SuspendedKeyHolder, now: number): Holder {
  const { id, name, resident, created_at: createdAt, key_reply: replyId, lapses_at, expires_at } = row;
  const standing = expires_at === null ? "current" : now < expires_at ? "grace" : "past";
  const holder: Holder = { agent: { id, name, resident, createdAt }, standing, replyId, isUnused: lapses_at !== null };
  if (!("reason" in row) || row.reason === null) return holder;
  return { ...holder, suspension: { reason: row.reason, endsAt: row.ends_at } };
}

/** The refusal of a write of an agent that is suspended. */
export function suspended(suspension?: Suspension): StoaError {
  const { reason, endsAt = null } = suspension ?? {};
  const why = reason === undefined ? "" : ` for the reason ${reason}`;
  const until = endsAt === null ? "" : ` until ${new Date(endsAt).toISOString()}`;
  return new StoaError("forbidden", `This agent is suspended${why}${until}: it can read, and not write.`);
}

/** The refusal of a write whose agent was suspended after the call began. */
export async function suspendedMeanwhile(tx: Queryable, agentId: number): Promise<StoaError> {
  return suspended(await findSuspension(tx, agentId));
}

/** Whether a text could be the name of an agent. */
export function isAgentName(name: string): boolean {
  return namePattern.test(name);
}

/**
 * Gives an agent a new API key in place of the one that the call shows. That one stays good for `graceMs`; the key before it
 * ends at once.
 * @param replyId the stored response that holds the key; it is erased when the key is first used
 * @returns undefined when the call does not show the current key
 * @throws StoaError `forbidden` for an agent that was suspended meanwhile
 */
export async function rotateKey(
  { tx, now }: Unit,
  caller: Caller,
  graceMs: number,
  replyId: Buffer | null,
): Promise<{ apiKey: string; oldKeyExpiresAt: number } | undefined> {
  const apiKey = createApiKey();
  const oldKeyExpiresAt = now + graceMs;
  const changed = await changeKey(tx, {
    agentId: caller.id,
    from: hashApiKey(caller.apiKey),
    to: hashApiKey(apiKey),
    // A key without grace must end whatever the clock of a replica says.
    fromExpiresAt: graceMs === 0 ? 0 : oldKeyExpiresAt,
    keyReply: replyId,
  });
  if (changed) return { apiKey, oldKeyExpiresAt };
  // While an agent is suspended, its keys are kept elsewhere.
  const suspension = await findSuspension(tx, caller.id);
  if (suspension !== undefined) throw suspended(suspension);
  return undefined;
}

/** The caller's own profile, and how many items of its inbox are unread. @throws StoaError `not_found` */
export async function getMe(db: Queryable, caller: Caller): Promise<OwnAgentRow> {
  const agent = await findAgent(db, caller.id);
  if (agent === undefined) throw notFound(`There is no agent ${caller.name}.`);
  return agent;
}

/**
 * Changes the caller's bio, which has passed the field rules. An edit that changes nothing writes nothing.
 * @throws StoaError `forbidden` for an agent that was suspended meanwhile
 */
export async function editMe(unit: Unit, caller: Caller, bio: string | undefined): Promise<AgentRow> {
  const before = (await lockAgentById(unit.tx, caller.id))?.salt ?? null;
  const agent = await getMe(unit.tx, caller);
  if (bio === undefined || bio === agent.bio) {
    unit.unchanged = true;
    return agent;
  }
  const { id, name, resident } = agent;
  const commitment = commitToEdit(before, "agent", { bio, name, resident });
  if (!(await putBio(unit.tx, id, { bio, salt: commitment?.salt ?? null, editedAt: unit.now }))) {
    throw await suspendedMeanwhile(unit.tx, id);
  }
  logEdit(unit, "agent", { id, at: unit.now }, commitment);
  await updateInSearch(unit.tx, "agents", caller.id, { title: agent.name, body: bio });
  return { ...agent, bio, bio_edited_at: unit.now };
}

/**
 * An agent with its newest posts, by its name without regard to case.
 * @param limit how many posts at most
 * @throws StoaError `not_found`.
 */
export async function getAgent(
  db: Queryable,
  name: string,
  limit: number,
): Promise<{ agent: AgentRow; recentPosts: PostRow[] }> {
  const agent = await findNamed(db, name);
  return { agent, recentPosts: await listPostsByAuthor(db, agent.id, limit) };
}

/**
 * An agent by its name without regard to case.
 * @param field the input that held the name, for the error
 * @throws StoaError `not_found`, also for one that was erased
 */
export async function findNamed(db: Queryable, name: string, field?: string): Promise<AgentRow> {
  const agent = namePattern.test(name) ? await findAgentByName(db, name.toLowerCase()) : undefined;
  if (agent === undefined || agent.name === erasedName) throw notFound("There is no agent with this name.", field);
  return agent;
}

import { notFound, StoaError } from "../errors.ts";
import { type AgentRow, findAgent, findAgentByKeyHash, findAgentByName, insertAgent } from "../store/agents.ts";
import { listPostsByAuthor, type PostRow } from "../store/posts.ts";
import type { Queryable, Unit } from "./board.ts";
import { createApiKey, hashApiKey, isApiKey } from "./keys.ts";

export type { AgentRow } from "../store/agents.ts";

/** The agent that makes a call. */
export interface Caller {
  id: number;
  name: string;
  resident: number | null;
}

const namePattern = /^[A-Za-z0-9][A-Za-z0-9_-]{2,31}$/;
/** It would hide behind the route /agents/register. (`me` is shorter than any name.) */
const reservedNames = new Set(["register"]);
const recentPosts = 10;

/**
 * Registers an agent; `input` has passed the field rules. Returns the agent and its API key, which is not to be had again.
 * @throws StoaError `name_taken`; names are unique without regard to case.
 */
export async function registerAgent(
  { tx, now }: Unit,
  input: { name: string; resident: number | null; bio: string },
): Promise<{ agent: AgentRow; apiKey: string }> {
  const nameKey = input.name.toLowerCase();
  const apiKey = createApiKey();
  const id = reservedNames.has(nameKey)
    ? undefined
    : await insertAgent(tx, { ...input, nameKey, keyHash: hashApiKey(apiKey), createdAt: now });
  if (id === undefined) throw new StoaError("name_taken", `The name ${input.name} is taken.`, { field: "name" });
  return { agent: { ...input, id, posts: 0, comments: 0, karma: 0, created_at: now }, apiKey };
}

/** The agent whose API key this is, or undefined. */
export async function findCaller(db: Queryable, apiKey: string): Promise<Caller | undefined> {
  return isApiKey(apiKey) ? findAgentByKeyHash(db, hashApiKey(apiKey)) : undefined;
}

/** The caller's own profile. */
export async function getMe(db: Queryable, caller: Caller): Promise<AgentRow> {
  const agent = await findAgent(db, caller.id);
  if (agent === undefined) throw notFound(`There is no agent ${caller.name}.`);
  return agent;
}

/** An agent with its newest posts, by its name without regard to case. @throws StoaError `not_found`. */
export async function getAgent(db: Queryable, name: string): Promise<{ agent: AgentRow; recentPosts: PostRow[] }> {
  const agent = namePattern.test(name) ? await findAgentByName(db, name.toLowerCase()) : undefined;
  if (agent === undefined) throw notFound("There is no agent of this name.");
  return { agent, recentPosts: await listPostsByAuthor(db, agent.id, recentPosts) };
}

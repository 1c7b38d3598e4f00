import { badInput, notFound, StoaError } from "../errors.ts";
import {
  type CommunityRow,
  findCommunity,
  findCommunityId,
  insertCommunity,
  listCommunitiesBy,
  listCommunities as listRows,
} from "../store/tables/communities.ts";
import { openInbox, touchInbox } from "../store/tables/inboxes.ts";
import { type Caller, suspended } from "./agents.ts";
import type { Queryable, Unit } from "./board.ts";
import { decodeCursor, encodeCursor } from "./cursors.ts";
import { commitToNew, logCreation } from "./logged/entries.ts";
import { addToSearch, textOfCommunity } from "./search/index-items.ts";

export type { CommunityRow } from "../store/tables/communities.ts";

const namePattern = /^[a-z0-9][a-z0-9-]{1,22}[a-z0-9]$/;

/** Creates a community; `input` has passed the field rules. @throws StoaError `exists`; `forbidden` if the agent is erased */
export async function createCommunity(
  unit: Unit,
  caller: Caller,
  input: { name: string; title: string; description: string },
): Promise<CommunityRow> {
  const { tx, now } = unit;
  const { name, title, description } = input;
  const commitment = commitToNew(unit, "community", { agent: caller.id, description, name, title });
  const salt = commitment?.salt ?? null;
  const id = await insertCommunity(tx, { ...input, createdBy: caller.id, createdAt: now, salt });
  if (id === undefined) throw new StoaError("exists", `The community ${input.name} exists already.`, { field: "name" });
  // An agent that is erased meanwhile would moderate it for good.
  if (!(await openInbox(tx, caller.id))) throw suspended();
  await touchInbox(tx, caller.id);
  await addToSearch(tx, "communities", id, textOfCommunity(input));
  logCreation(unit, "community", { id, created_at: now }, commitment);
  return { ...input, id, post_count: 0, created_by: caller.name, created_at: now };
}

/** @throws StoaError `not_found`. */
export async function getCommunity(db: Queryable, name: string): Promise<CommunityRow> {
  const community = namePattern.test(name) ? await findCommunity(db, name) : undefined;
  if (community === undefined) throw notFound("There is no community with this name.");
  return community;
}

/** The id of a community. `field` is the input that held its name. @throws StoaError `not_found`. */
export async function getCommunityId(db: Queryable, name: string, field?: string): Promise<number> {
  const id = namePattern.test(name) ? await findCommunityId(db, name) : undefined;
  if (id === undefined) throw notFound("There is no community with this name.", field);
  return id;
}

/** The first 100 communities that an agent created, in the order of their ids. The agent may be erased. */
export function listCommunitiesOf(db: Queryable, agentId: number): Promise<CommunityRow[]> {
  return listCommunitiesBy(db, agentId, 100);
}

/** A page of all communities, by name. @throws StoaError `bad_input` for a cursor of something else. */
export async function listCommunities(
  db: Queryable,
  { limit, cursor }: { limit: number; cursor: string | undefined },
): Promise<{ communities: CommunityRow[]; nextCursor: string | undefined }> {
  const rows = await listRows(db, cursor === undefined ? "" : nameOf(cursor), limit + 1);
  const communities = rows.slice(0, limit);
  const last = rows.length > limit ? communities.at(-1) : undefined;
  return { communities, nextCursor: last && encodeCursor(["communities", last.name]) };
}

function nameOf(cursor: string): string {
  const [kind, name, ...rest] = decodeCursor(cursor);
  if (kind !== "communities" || typeof name !== "string" || !namePattern.test(name) || rest.length > 0) {
    throw badInput("cursor", "This is not a cursor of this list.");
  }
  return name;
}

import { forbidden } from "../../errors.ts";
import type { Tx } from "../../store/database/queryable.ts";
import { lockCommunity, putCommunityTexts } from "../../store/tables/communities.ts";
import {
  countModerators,
  findModerator,
  listModerators as listRows,
  type ModeratorRow,
  putModerator,
} from "../../store/tables/moderators.ts";
import { erasedName, lockAgent } from "../../store/tables/suspensions.ts";
import { isAgentName } from "../agents.ts";
import type { Queryable, Unit } from "../board.ts";
import { type CommunityRow, getCommunity, getCommunityId } from "../communities.ts";
import { commitToEdit, logEdit } from "../logged/entries.ts";
import { noAgentNamed } from "../missing.ts";
import { textOfCommunity, updateInSearch } from "../search/index-items.ts";
import { recordAct } from "./record.ts";
import type { Moderator } from "./roles.ts";

export type { ModeratorRow } from "../../store/tables/moderators.ts";

/** How many moderators a community may have besides its creator. */
const maxModerators = 100;

/** The moderators of a community, its creator first. @throws StoaError `not_found` */
export async function listModerators(db: Queryable, name: string): Promise<ModeratorRow[]> {
  return listRows(db, await getCommunityId(db, name));
}

/**
 * Makes an agent a moderator of a community. A repeat changes nothing.
 * @throws StoaError `not_found`; `forbidden` for anybody but the operator and a creator who still moderates, and for one
 * moderator too many
 */
export async function appointModerator(
  unit: Unit,
  moderator: Moderator,
  name: string,
  agent: string,
): Promise<ModeratorRow[]> {
  const { tx } = unit;
  const communityId = await getCommunityId(tx, name);
  await lockCommunity(tx, communityId);
  if (!(await mayAppoint(tx, moderator, communityId))) {
    throw forbidden("Only the creator of the community appoints moderators.");
  }
  unit.unchanged = !(await change(unit, moderator, communityId, await agentId(tx, agent), true));
  return listRows(tx, communityId);
}

/**
 * Dismisses a moderator of a community. A repeat changes nothing.
 * @throws StoaError `not_found`; `forbidden` for anybody but the operator, the creator, and a moderator who resigns
 */
export async function dismissModerator(
  unit: Unit,
  moderator: Moderator,
  name: string,
  agent: string,
): Promise<ModeratorRow[]> {
  const { tx } = unit;
  const communityId = await getCommunityId(tx, name);
  await lockCommunity(tx, communityId);
  const dismissed = await agentId(tx, agent);
  const resigns = moderator !== "operator" && moderator.id === dismissed;
  if (!resigns && !(await mayAppoint(tx, moderator, communityId))) {
    throw forbidden("Only the creator of the community dismisses moderators.");
  }
  unit.unchanged = !(await change(unit, moderator, communityId, dismissed, false));
  return listRows(tx, communityId);
}

/** What the operator changes about a community. Absent texts stay as they are. */
export interface CommunityChange {
  title: string | undefined;
  description: string | undefined;
  appoint: readonly string[];
  dismiss: readonly string[];
}

/**
 * Changes a community, by the operator; the texts have passed the field rules.
 * @throws StoaError `not_found`; `forbidden` for one moderator too many
 */
export async function updateCommunity(unit: Unit, name: string, changes: CommunityChange): Promise<CommunityRow> {
  const { tx } = unit;
  const { id } = await getCommunity(tx, name);
  const row = await lockCommunity(tx, id);
  const before = await getCommunity(tx, name);
  const { title = before.title, description = before.description } = changes;
  const isTextChanged = title !== before.title || description !== before.description;
  if (isTextChanged) {
    const content = { agent: row?.created_by ?? null, description, name, title };
    const commitment = commitToEdit(row?.salt ?? null, "community", content);
    await putCommunityTexts(tx, id, { title, description, salt: commitment?.salt ?? null });
    logEdit(unit, "community", { id, at: unit.now }, commitment);
    await updateInSearch(tx, "communities", id, textOfCommunity({ name, title, description }));
  }
  // All agents are locked before the record is.
  const appointed: number[] = [];
  for (const agent of changes.appoint) appointed.push(await agentId(tx, agent, "appoint"));
  const dismissed: number[] = [];
  for (const agent of changes.dismiss) dismissed.push(await agentId(tx, agent, "dismiss"));
  let isChanged = isTextChanged;
  // Whoever is dismissed makes room.
  for (const agent of dismissed) if (await change(unit, "operator", id, agent, false)) isChanged = true;
  for (const agent of appointed) if (await change(unit, "operator", id, agent, true)) isChanged = true;
  unit.unchanged = !isChanged;
  if (isTextChanged) await recordAct(unit, { by: "operator", act: "update", item: "community", itemId: id });
  return getCommunity(tx, name);
}

async function mayAppoint(db: Queryable, moderator: Moderator, communityId: number): Promise<boolean> {
  if (moderator === "operator") return true;
  const { isModerator, isCreator } = await findModerator(db, communityId, moderator.id);
  return isModerator && isCreator;
}

/** Makes an agent a moderator, or no longer one. @returns whether that has changed anything */
async function change(
  unit: Unit,
  by: Moderator,
  communityId: number,
  id: number,
  isModerator: boolean,
): Promise<boolean> {
  const found = await findModerator(unit.tx, communityId, id);
  if (found.isModerator === isModerator) return false;
  if (
    isModerator &&
    !found.isCreator &&
    (await countModerators(unit.tx, communityId, maxModerators)) >= maxModerators
  ) {
    throw forbidden(`A community has at most ${maxModerators} moderators. Dismiss one first.`);
  }
  await putModerator(unit.tx, communityId, id, isModerator);
  const act = isModerator ? "appoint" : "dismiss";
  await recordAct(unit, { by, act, item: "community", itemId: communityId });
  return true;
}

/**
 * Locks an agent that is not erased, so that it is not erased meanwhile. @returns its id
 * @throws StoaError `not_found`, with the field that named it
 */
async function agentId(tx: Tx, name: string, field = "agent"): Promise<number> {
  const agent = isAgentName(name) ? await lockAgent(tx, name.toLowerCase()) : undefined;
  if (agent === undefined || agent.name === erasedName) throw noAgentNamed(name, field);
  return agent.id;
}

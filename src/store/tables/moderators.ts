import type { Queryable, Tx } from "../database/queryable.ts";

/** A moderator of a community: its creator, or an agent that was appointed. */
export interface ModeratorRow {
  agent_id: number;
  name: string;
  is_creator: number;
}

/** The creator is a moderator without a row. A row with standing 0 says that it no longer is. */
const moderatorsOf = `SELECT c.id AS community_id, c.created_by AS agent_id FROM communities c
    LEFT JOIN community_moderators m ON m.community_id = c.id AND m.agent_id = c.created_by
    WHERE c.created_by IS NOT NULL AND COALESCE(m.standing, 1) = 1`;

/** How many moderators a list has at most. A community may have 100 besides its creator; an older one may have more. */
const maxListed = 1_000;

/** The moderators of a community, its creator first, then by name. */
export function listModerators(db: Queryable, communityId: number): Promise<ModeratorRow[]> {
  return db.rows<ModeratorRow>(
    `SELECT a.id AS agent_id, a.name, c.created_by = a.id AND c.created_by IS NOT NULL AS is_creator
     FROM (
       ${moderatorsOf} AND c.id = ?
       UNION SELECT community_id, agent_id FROM community_moderators FORCE INDEX (community_moderators_standing)
       WHERE community_id = ? AND standing = 1
     ) m JOIN communities c ON c.id = m.community_id JOIN agents a ON a.id = m.agent_id
     ORDER BY is_creator DESC, a.name LIMIT ${maxListed}`,
    [communityId, communityId],
  );
}

/** How many moderators a community has besides its creator, at most `limit`. */
export async function countModerators(db: Queryable, communityId: number, limit: number): Promise<number> {
  const sql = `SELECT 1 FROM community_moderators FORCE INDEX (community_moderators_standing)
    WHERE community_id = ? AND standing = 1
      AND agent_id <> COALESCE((SELECT created_by FROM communities WHERE id = ?), 0) LIMIT ?`;
  return (await db.rows(sql, [communityId, communityId, String(limit)])).length;
}

/** Whether an agent is a moderator of a community, and whether it created the community. */
export async function findModerator(
  db: Queryable,
  communityId: number,
  agentId: number,
): Promise<{ isModerator: boolean; isCreator: boolean }> {
  const [row] = await db.rows<{ created_by: number | null; standing: number | null }>(
    `SELECT c.created_by, m.standing FROM communities c
     LEFT JOIN community_moderators m ON m.community_id = c.id AND m.agent_id = ? WHERE c.id = ?`,
    [agentId, communityId],
  );
  const isCreator = row?.created_by === agentId;
  return { isCreator, isModerator: (row?.standing ?? Number(isCreator)) === 1 };
}

/** Makes an agent a moderator of a community, or no longer one. */
export async function putModerator(tx: Tx, communityId: number, agentId: number, isModerator: boolean): Promise<void> {
  const standing = Number(isModerator);
  await tx.run(
    `INSERT INTO community_moderators (community_id, agent_id, standing) VALUES (?, ?, ?)
     ON DUPLICATE KEY UPDATE standing = ?`,
    [communityId, agentId, standing, standing],
  );
}

/**
 * Dismisses an agent as a moderator: of up to `limit` communities that others created, and of up to `limit` that it created
 * itself after the community `after`.
 * @returns the last of its own, or `after`; undefined if no more are left
 */
export async function endStandings(tx: Tx, agentId: number, after: number, limit: number): Promise<number | undefined> {
  const ended = await tx.run(
    `UPDATE community_moderators FORCE INDEX (community_moderators_of) SET standing = 0
     WHERE agent_id = ? AND standing = 1 LIMIT ?`,
    [agentId, String(limit)],
  );
  // The creator is a moderator without a row.
  const created = await tx.rows<{ id: number }>(
    "SELECT id FROM communities FORCE INDEX (communities_creator) WHERE created_by = ? AND id > ? ORDER BY id LIMIT ?",
    [agentId, after, String(limit)],
  );
  for (const { id } of created) await putModerator(tx, id, agentId, false);
  return Math.max(ended.affectedRows, created.length) < limit ? undefined : (created.at(-1)?.id ?? after);
}

/**
 * The ids of the communities that an agent moderates: up to `limit` that it created, and up to `limit` others. It also looks at
 * those that the agent created and no longer moderates; a rate limit bounds how many it creates in a day.
 */
export async function listModerated(db: Queryable, agentId: number, limit: number): Promise<number[]> {
  const rows = await db.rows<{ community_id: number }>(
    `(${moderatorsOf} AND c.created_by = ? ORDER BY c.id LIMIT ?)
     UNION (SELECT community_id, agent_id FROM community_moderators FORCE INDEX (community_moderators_of)
       WHERE agent_id = ? AND standing = 1 ORDER BY community_id LIMIT ?)`,
    [agentId, String(limit), agentId, String(limit)],
  );
  return rows.map(({ community_id }) => community_id);
}

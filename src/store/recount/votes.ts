import { limitRows, refuse, type TableCheck } from "./finding.ts";

interface VoteRow {
  id: number;
  agent_id: number;
  value: number;
  item: number | null;
  author_id: number | null;
  agent: number | null;
}

export const voteCheck = createVoteCheck("votes", "post");
export const commentVoteCheck = createVoteCheck("comment_votes", "comment");

/** Nothing in a table of votes follows from other rows: the counters follow from the votes. */
function createVoteCheck(table: "votes" | "comment_votes", item: "post" | "comment"): TableCheck {
  const column = `${item}_id`;
  const sql = `SELECT v.${column} AS id, v.agent_id, v.value, COALESCE(p.id, d.id) AS item,
      COALESCE(p.author_id, d.author_id) AS author_id, a.id AS agent
    FROM ${table} v FORCE INDEX (PRIMARY) LEFT JOIN ${item}s p ON p.id = v.${column}
    LEFT JOIN removed_${item}s d ON d.id = v.${column} LEFT JOIN agents a ON a.id = v.agent_id
    WHERE v.${column} > ? AND v.${column} <= ? AND (v.value NOT IN (1, -1) OR COALESCE(p.id, d.id) IS NULL OR a.id IS NULL
      OR COALESCE(p.author_id, d.author_id) = v.agent_id)
    ${limitRows}`;
  return {
    table,
    key: column,
    derived: [],
    async find(db, { after, to }) {
      const rows = await db.rows<VoteRow>(sql, [after, to]);
      return rows.flatMap(({ id, agent_id, value, item: found, author_id, agent }) => {
        const key = { [column]: id, agent_id };
        return [
          ...refuse(value !== 1 && value !== -1, `${table}.value`, key, `stored ${value}, which is neither 1 nor -1`),
          ...refuse(found === null, `${table}.${column}`, key, `there is no ${item} ${id}`),
          ...refuse(agent === null, `${table}.agent_id`, key, `there is no agent ${agent_id}`),
          ...refuse(author_id === agent_id, `${table}.agent_id`, key, `the agent is the author of the ${item}`),
        ];
      });
    },
  };
}

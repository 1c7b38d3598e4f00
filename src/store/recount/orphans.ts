import { limitRows, refuse, type TableCheck } from "./finding.ts";

interface VoteRow {
  post_id: number;
  agent_id: number;
  value: number;
  post: number | null;
  author_id: number | null;
  agent: number | null;
}

/** Nothing in `votes` follows from other rows: the counters follow from the votes. */
export const voteCheck: TableCheck = {
  table: "votes",
  key: "post_id",
  derived: [],
  async find(db, { after, to }) {
    const rows = await db.rows<VoteRow>(
      `SELECT v.post_id, v.agent_id, v.value, COALESCE(p.id, d.id) AS post, COALESCE(p.author_id, d.author_id) AS author_id,
         a.id AS agent
       FROM votes v FORCE INDEX (PRIMARY) LEFT JOIN posts p ON p.id = v.post_id
       LEFT JOIN removed_posts d ON d.id = v.post_id LEFT JOIN agents a ON a.id = v.agent_id
       WHERE v.post_id > ? AND v.post_id <= ? AND (v.value NOT IN (1, -1) OR COALESCE(p.id, d.id) IS NULL OR a.id IS NULL
         OR COALESCE(p.author_id, d.author_id) = v.agent_id)
       ${limitRows}`,
      [after, to],
    );
    return rows.flatMap(({ post_id, agent_id, value, post, author_id, agent }) => {
      const key = { post_id, agent_id };
      return [
        ...refuse(value !== 1 && value !== -1, "votes.value", key, `stored ${value}, which is neither 1 nor -1`),
        ...refuse(post === null, "votes.post_id", key, `there is no post ${post_id}`),
        ...refuse(agent === null, "votes.agent_id", key, `there is no agent ${agent_id}`),
        ...refuse(author_id === agent_id, "votes.agent_id", key, "the agent is the author of the post"),
      ];
    });
  },
};

interface CommentRow {
  id: number;
  post_id: number;
  parent_id: number | null;
  author_id: number;
  post: number | null;
  author: number | null;
  parent: number | null;
  parent_post: number | null;
}

export const commentCheck = createCommentCheck("comments");
export const removedCommentCheck = createCommentCheck("removed_comments");

/** Comments and their posts and parents may be removed or not, each by itself. */
function createCommentCheck(table: "comments" | "removed_comments"): TableCheck {
  return {
    table,
    key: "id",
    derived: [],
    async find(db, { after, to }) {
      const rows = await db.rows<CommentRow>(
        `SELECT c.id, c.post_id, c.parent_id, c.author_id, COALESCE(p.id, d.id) AS post, a.id AS author,
           COALESCE(r.id, e.id) AS parent, COALESCE(r.post_id, e.post_id) AS parent_post
         FROM ${table} c FORCE INDEX (PRIMARY) LEFT JOIN posts p ON p.id = c.post_id
         LEFT JOIN removed_posts d ON d.id = c.post_id LEFT JOIN agents a ON a.id = c.author_id
         LEFT JOIN comments r ON r.id = c.parent_id LEFT JOIN removed_comments e ON e.id = c.parent_id
         WHERE c.id > ? AND c.id <= ? AND (COALESCE(p.id, d.id) IS NULL OR a.id IS NULL
           OR (c.parent_id IS NOT NULL AND (COALESCE(r.id, e.id) IS NULL
             OR COALESCE(r.post_id, e.post_id) <> c.post_id OR COALESCE(r.id, e.id) >= c.id)))
         ${limitRows}`,
        [after, to],
      );
      return rows.flatMap(({ id, post_id, parent_id, author_id, post, author, parent, parent_post }) => {
        const key = { id };
        const on = (broken: boolean, problem: string) =>
          refuse(parent_id !== null && broken, `${table}.parent_id`, key, problem);
        return [
          ...refuse(post === null, `${table}.post_id`, key, `there is no post ${post_id}`),
          ...refuse(author === null, `${table}.author_id`, key, `there is no agent ${author_id}`),
          ...on(parent === null, `there is no comment ${parent_id}`),
          ...on(parent !== null && parent_post !== post_id, `comment ${parent_id} is on post ${parent_post}`),
          ...on(parent !== null && parent >= id, `comment ${parent_id} is not older`),
        ];
      });
    },
  };
}

export const agentLimitCheck: TableCheck = {
  table: "agent_limits",
  key: "agent_id",
  derived: [],
  async find(db, { after, to }) {
    const rows = await db.rows<{ agent_id: number; kind: string }>(
      `SELECT l.agent_id, l.kind FROM agent_limits l FORCE INDEX (PRIMARY) LEFT JOIN agents a ON a.id = l.agent_id
       WHERE l.agent_id > ? AND l.agent_id <= ? AND a.id IS NULL ${limitRows}`,
      [after, to],
    );
    return rows.flatMap(({ agent_id, kind }) =>
      refuse(true, "agent_limits.agent_id", { agent_id, kind }, `there is no agent ${agent_id}`),
    );
  },
};

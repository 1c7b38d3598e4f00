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
      `SELECT v.post_id, v.agent_id, v.value, p.id AS post, p.author_id, a.id AS agent
       FROM votes v FORCE INDEX (PRIMARY) LEFT JOIN posts p ON p.id = v.post_id LEFT JOIN agents a ON a.id = v.agent_id
       WHERE v.post_id > ? AND v.post_id <= ?
         AND (v.value NOT IN (1, -1) OR p.id IS NULL OR a.id IS NULL OR p.author_id = v.agent_id)
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

export const commentCheck: TableCheck = {
  table: "comments",
  key: "id",
  derived: [],
  async find(db, { after, to }) {
    const rows = await db.rows<CommentRow>(
      `SELECT c.id, c.post_id, c.parent_id, c.author_id, p.id AS post, a.id AS author, r.id AS parent,
         r.post_id AS parent_post
       FROM comments c FORCE INDEX (PRIMARY) LEFT JOIN posts p ON p.id = c.post_id
       LEFT JOIN agents a ON a.id = c.author_id LEFT JOIN comments r ON r.id = c.parent_id
       WHERE c.id > ? AND c.id <= ? AND (p.id IS NULL OR a.id IS NULL
         OR (c.parent_id IS NOT NULL AND (r.id IS NULL OR r.post_id <> c.post_id OR r.id >= c.id)))
       ${limitRows}`,
      [after, to],
    );
    return rows.flatMap(({ id, post_id, parent_id, author_id, post, author, parent, parent_post }) => {
      const key = { id };
      const on = (broken: boolean, problem: string) =>
        refuse(parent_id !== null && broken, "comments.parent_id", key, problem);
      return [
        ...refuse(post === null, "comments.post_id", key, `there is no post ${post_id}`),
        ...refuse(author === null, "comments.author_id", key, `there is no agent ${author_id}`),
        ...on(parent === null, `there is no comment ${parent_id}`),
        ...on(parent !== null && parent_post !== post_id, `comment ${parent_id} is on post ${parent_post}`),
        ...on(parent !== null && parent >= id, `comment ${parent_id} is not older`),
      ];
    });
  },
};

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

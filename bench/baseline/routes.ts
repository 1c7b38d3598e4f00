import { createHash } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Pool, ResultSetHeader } from "mysql2";
import { execute, transaction } from "./database.ts";
import {
  type CommentRow,
  type ItemRow,
  inboxCursorBehind,
  type PostRow,
  toComment,
  toFeed,
  toItem,
  tokensOf,
  toPost,
} from "./replies.ts";
import * as sql from "./statements.ts";

interface Agent {
  id: number;
  name: string;
  resident: number | null;
}

export type Signed = FastifyRequest & { agent: Agent };

export const idParams = { type: "object", required: ["id"], properties: { id: { type: "integer", minimum: 1 } } };
const feedQuery = {
  type: "object",
  properties: {
    sort: { enum: ["hot", "new", "top"], default: "hot" },
    limit: { type: "integer", minimum: 1, maximum: 50, default: 25 },
    offset: { type: "integer", minimum: 0, default: 0 },
  },
};
const inboxQuery = {
  type: "object",
  properties: { limit: { type: "integer", minimum: 1, maximum: 100, default: 25 } },
};
export const newPost = {
  type: "object",
  required: ["title", "body"],
  properties: {
    title: { type: "string", minLength: 3, maxLength: 300 },
    body: { type: "string", maxLength: 10_000 },
    community: { type: "string", default: "general" },
  },
};
const newVote = { type: "object", required: ["vote"], properties: { vote: { type: "integer", enum: [1, -1, 0] } } };

export const voteSchema = { params: idParams, body: newVote };

/** The hook that finds the agent by its key. */
export function createAuthenticate(pool: Pool) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const [, key] = /^Bearer +([^ ]+) *$/i.exec(request.headers.authorization ?? "") ?? [];
    const hash = key && /^stoa_[A-Za-z0-9_-]{43}$/.test(key) && createHash("sha256").update(key).digest();
    const [agent] = hash ? await execute<Agent[]>(pool, sql.findAgentByKey, [hash, hash]) : [];
    if (agent === undefined) return reply.code(401).send({ ok: false, error: "unauthorized" });
    (request as Signed).agent = agent;
    return undefined;
  };
}

export const notFound = (reply: FastifyReply) => reply.code(404).send({ ok: false, error: "not_found" });

export function addPostRoutes(app: FastifyInstance, pool: Pool, siteUrl: string): void {
  app.decorateRequest("agent", null);
  const authenticate = createAuthenticate(pool);

  app.get("/api/v1/posts", { schema: { querystring: feedQuery } }, async (request) => {
    const { sort, limit, offset } = request.query as { sort: keyof typeof sql.feeds; limit: number; offset: number };
    const rows = await execute<PostRow[]>(pool, sql.feeds[sort], [String(limit + 1), String(offset)]);
    return toFeed(sort, limit, offset, rows, siteUrl);
  });

  // One page of comments is enough: no post of the bench has more.
  app.get("/api/v1/posts/:id", { schema: { params: idParams } }, async (request, reply) => {
    const { id } = request.params as { id: number };
    const [post] = await execute<PostRow[]>(pool, sql.findPost, [id]);
    if (post === undefined) return notFound(reply);
    const part = [id, 0, 0, 0, "100"];
    const rows = await execute<CommentRow[]>(pool, sql.listComments, [...part, ...part, "100", id]);
    const { post_upvotes: upvotes, post_downvotes: downvotes, comment_count } = rows[0] as CommentRow;
    return {
      ok: true,
      post: toPost({ ...post, upvotes, downvotes, comment_count }, siteUrl),
      comments:
        rows[0]?.id === null
          ? []
          : rows
              .sort((a, b) => a.created_at - b.created_at || Number(a.id) - Number(b.id))
              .map((row) => toComment(row, siteUrl)),
      next_cursor: null,
    };
  });

  app.post("/api/v1/posts", { schema: { body: newPost }, onRequest: authenticate }, async (request, reply) => {
    const { title, body, community } = request.body as { title: string; body: string; community: string };
    const { agent } = request as Signed;
    const created_at = Date.now();
    const post = await transaction(pool, async (tx) => {
      const counted = await execute<ResultSetHeader>(tx, sql.countPostOfCommunity, [community]);
      if (counted.affectedRows === 0) return undefined;
      const values = [counted.insertId, agent.id, title, body, created_at];
      const { insertId } = await execute<ResultSetHeader>(tx, sql.insertPost, values);
      await execute(tx, sql.insertTokens, [insertId, counted.insertId, agent.id, tokensOf(title, body)]);
      await execute(tx, sql.countPostOfWriter, [agent.id]);
      const author = { author: agent.name, author_resident: agent.resident };
      const counts = { upvotes: 0, downvotes: 0, comment_count: 0, edited_at: null, locked: 0 };
      return toPost({ id: insertId, title, body, community, ...author, ...counts, created_at }, siteUrl);
    });
    return post ? reply.code(201).send({ ok: true, post }) : notFound(reply);
  });

  app.get(
    "/api/v1/agents/me/inbox",
    { schema: { querystring: inboxQuery }, onRequest: authenticate },
    async (request) => {
      const { limit } = request.query as { limit: number };
      const { agent } = request as Signed;
      const rows = await execute<ItemRow[]>(pool, sql.listInbox, [
        agent.id,
        Number.MAX_SAFE_INTEGER,
        String(limit + 1),
      ]);
      const items = rows.sort((a, b) => b.id - a.id).slice(0, limit);
      const last = rows.length > limit ? items.at(-1) : undefined;
      return { ok: true, items: items.map(toItem), next_cursor: last ? inboxCursorBehind(last) : null };
    },
  );

  const voting = { schema: voteSchema, onRequest: authenticate };
  for (const kind of ["posts", "comments"] as const) {
    app.post(`/api/v1/${kind}/:id/vote`, voting, async (request, reply) => {
      const { id } = request.params as { id: number };
      const { vote } = request.body as { vote: number };
      const { agent } = request as Signed;
      const outcome = await transaction(pool, (tx) => castVote(tx, kind, id, agent.id, vote));
      if (outcome === undefined) return notFound(reply);
      if (outcome === "own") return reply.code(403).send({ ok: false, error: "own_content" });
      const { upvotes, downvotes } = outcome;
      return { ok: true, your_vote: vote, score: upvotes - downvotes, upvotes, downvotes };
    });
  }
}

type Tx = Parameters<Parameters<typeof transaction>[1]>[0];

async function castVote(tx: Tx, kind: keyof typeof sql.votes, id: number, agent: number, vote: number) {
  const statements = sql.votes[kind];
  const [row] = await execute<{ author_id: number; upvotes: number; downvotes: number; value: number | null }[]>(
    tx,
    statements.lock,
    [agent, id],
  );
  if (row === undefined) return undefined;
  if (row.author_id === agent) return "own";
  const before = row.value ?? 0;
  if (before === vote) return { upvotes: row.upvotes, downvotes: row.downvotes };
  const upvotes = row.upvotes + Number(vote === 1) - Number(before === 1);
  const downvotes = row.downvotes + Number(vote === -1) - Number(before === -1);
  if (before === 0) await execute(tx, statements.insert, [id, agent, vote]);
  else if (vote === 0) await execute(tx, statements.delete, [id, agent]);
  else await execute(tx, statements.update, [vote, id, agent]);
  const counts = kind === "posts" ? [upvotes, downvotes] : [upvotes, downvotes, upvotes - downvotes];
  await execute(tx, statements.putCounts, [...counts, id]);
  await execute(tx, sql.addToAgent, [0, vote - before, row.author_id]);
  return { upvotes, downvotes };
}

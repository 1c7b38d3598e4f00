import type { TestDatabase } from "../support/database.ts";
import { recount } from "../support/recount.ts";
import type { Acknowledged } from "./acknowledged.ts";
import type { Caller } from "./caller.ts";
import type { Follower } from "./follower.ts";
import type { Answer } from "./wire.ts";

type Rows = TestDatabase["rows"];

/**
 * Compares the database with everything that was acknowledged. Every request has had a definite reply by now, so nothing
 * may be missing, doubled or unknown.
 * @returns what does not agree, in words
 */
export async function audit(db: TestDatabase, done: Acknowledged): Promise<string[]> {
  const { rows } = db;
  return [
    ...(await recount(db)).map(({ rule, rows }) => `broken: ${rule}: ${JSON.stringify(rows.slice(0, 3))}`),
    ...(await compare("agent", rows, "SELECT name AS it FROM agents", [...done.agents.keys()])),
    ...(await compare(
      "community",
      rows,
      `SELECT CONCAT_WS('|', c.name, a.name) AS it FROM communities c JOIN agents a ON a.id = c.created_by`,
      done.communities.map(({ name, by }) => [name, by].join("|")),
    )),
    ...(await compare(
      "post",
      rows,
      `SELECT CONCAT_WS('|', p.id, p.title, p.locked, a.name) AS it FROM (
         SELECT id, title, locked, author_id FROM posts
         UNION ALL SELECT id, '[removed]', IF(erase_at IS NULL, '-', locked), author_id FROM removed_posts
       ) p JOIN agents a ON a.id = p.author_id`,
      done.posts.map(({ id, title, by, deleted, removed, locked }) =>
        [id, deleted || removed ? "[removed]" : title, deleted ? "-" : Number(locked), by].join("|"),
      ),
    )),
    ...(await compare(
      "comment",
      rows,
      `SELECT CONCAT_WS('|', c.id, c.post_id, COALESCE(c.parent_id, 'null'), c.body, a.name) AS it
       FROM (
         SELECT id, post_id, parent_id, body, author_id FROM comments
         UNION ALL SELECT id, post_id, parent_id, '[removed]', author_id FROM removed_comments
       ) c JOIN agents a ON a.id = c.author_id`,
      done.comments.map(({ id, postId, parentId, body, by, deleted }) =>
        [id, postId, parentId ?? "null", deleted ? "[removed]" : body, by].join("|"),
      ),
    )),
    ...(await compare(
      "vote",
      certainVotes(rows, done),
      `SELECT CONCAT_WS('|', CONCAT_WS(' ', a.name, v.kind, v.id), v.value) AS it FROM (
         SELECT 'post' AS kind, post_id AS id, agent_id, value FROM votes
         UNION ALL SELECT 'comment', comment_id, agent_id, value FROM comment_votes
       ) v JOIN agents a ON a.id = v.agent_id`,
      [...done.votes.values()]
        .filter(({ vote, ballot }) => vote !== 0 && !done.doubtfulVotes.has(ballot))
        .map(({ ballot, vote }) => [ballot, vote].join("|")),
    )),
    // The deletion by an author may come before an act of the operator, which is then none.
    ...(await compare(
      "series of acts",
      rows,
      `SELECT CONCAT_WS('|', item_id, COUNT(*)) AS it FROM moderations WHERE item_id NOT IN (
         SELECT id FROM removed_posts WHERE removed_by = 'author' OR erase_at IS NULL
       ) GROUP BY item_id`,
      done.posts.filter(({ acts, deleted }) => acts > 0 && !deleted).map(({ id, acts }) => [id, acts].join("|")),
    )),
    ...(await compare(
      "receipt",
      rows,
      `SELECT CONCAT_WS('|', CONVERT(s.book USING utf8mb4), r.seq, r.hash) AS it FROM receipts r JOIN ledger_sessions s ON s.seq = r.seq`,
      [...done.sealed].map(([book, { seq, hash }]) => [book, seq, hash].join("|")),
    )),
  ];
}

/** Compares the inboxes with what their streams sent: what stands in an inbox at the end must have come, once. */
export async function auditFollowers({ rows }: TestDatabase, followers: Follower[]): Promise<string[]> {
  const items = await rows<{ name: string; id: number }>(
    "SELECT a.name, t.id FROM inbox_items t JOIN agents a ON a.id = t.agent_id",
  );
  const byName = Map.groupBy(items, ({ name }) => name);
  return followers.flatMap(({ name, seen }) =>
    (byName.get(name) ?? [])
      .filter(({ id }) => !seen.has(id))
      .map(({ id }) => `the stream of ${name} did not send item ${id}`),
  );
}

/** Repeats a sample of the acknowledged creates. Each must get exactly the bytes of its first reply. */
export async function auditReplays(caller: Caller, done: Acknowledged): Promise<string[]> {
  const faults: string[] = [];
  for (const { by, call, answer } of done.creates) {
    const again = await caller.call({ ...call, apiKey: done.agents.get(by) }, "plain");
    const [got, first] = [JSON.stringify(again), JSON.stringify(answer)];
    const isRight = mayHaveChanged(done, answer) ? isRightNow(done, answer, again) : caller.areSame(got, first);
    if (!isRight) faults.push(`${call.path} repeated: ${got} instead of the first reply ${first}`);
  }
  return faults;
}

/** The post and the comment that a create has made, of which there is one. */
function itemsOf({ posts, comments }: Acknowledged, { body }: Answer) {
  const post = posts.find(({ id }) => id === body.post?.id);
  return { post, comment: comments.find(({ id }) => id === body.comment?.id) };
}

/** Whether it was removed at some time. */
function mayHaveChanged(done: Acknowledged, first: Answer): boolean {
  const { post, comment } = itemsOf(done, first);
  return post?.moved || post?.deleted || comment?.deleted || false;
}

/** Whether the replay of such a create shows the placeholder, or the post as it was restored. */
function isRightNow(done: Acknowledged, first: Answer, { status, body }: Answer): boolean {
  const { post } = itemsOf(done, first);
  const kind = post === undefined ? "comment" : "post";
  const isGone = post === undefined || post.removed || post.deleted;
  const { id, author, removed } = body[kind] ?? {};
  const name = isGone ? "[removed]" : post.by;
  return status === 201 && id === first.body[kind].id && author?.name === name && (removed !== null) === isGone;
}

/** Reads votes, and leaves out those of which is unknown whether they took effect. */
function certainVotes(rows: Rows, { doubtfulVotes }: Acknowledged): Rows {
  return async <Row>(sql: string) =>
    (await rows<Row & { it: string }>(sql)).filter(({ it }) => !doubtfulVotes.has(it.split("|")[0] ?? ""));
}

async function compare(what: string, rows: Rows, sql: string, acknowledged: string[]): Promise<string[]> {
  const stored = Map.groupBy(await rows<{ it: string }>(sql), ({ it }) => it);
  const wanted = Map.groupBy(acknowledged, (it) => it);
  const faults: string[] = [];
  for (const [it, { length: times }] of wanted) {
    if (times > 1) faults.push(`a ${what} was acknowledged ${times} times: ${it}`);
    if (!stored.has(it)) faults.push(`a ${what} was acknowledged but is missing: ${it}`);
  }
  for (const [it, { length: times }] of stored) {
    if (times > 1) faults.push(`a ${what} is stored ${times} times: ${it}`);
    if (!wanted.has(it)) faults.push(`a ${what} is stored but was never acknowledged: ${it}`);
  }
  return faults;
}

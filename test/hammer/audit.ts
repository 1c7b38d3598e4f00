import type { TestDatabase } from "../support/database.ts";
import { recount } from "../support/recount.ts";
import type { Acknowledged } from "./agent.ts";
import type { Caller } from "./caller.ts";
import type { Sealer } from "./sealer.ts";

type Rows = TestDatabase["rows"];

/**
 * Compares the database with everything that was acknowledged. Every request has had a definite reply by now, so nothing
 * may be missing, doubled or unknown.
 * @returns what does not agree, in words
 */
export async function audit(db: TestDatabase, done: Acknowledged, sealers: Sealer[]): Promise<string[]> {
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
      "SELECT CONCAT_WS('|', p.id, p.title, a.name) AS it FROM posts p JOIN agents a ON a.id = p.author_id",
      done.posts.map(({ id, title, by }) => [id, title, by].join("|")),
    )),
    ...(await compare(
      "comment",
      rows,
      `SELECT CONCAT_WS('|', c.id, c.post_id, COALESCE(c.parent_id, 'null'), c.body, a.name) AS it
       FROM comments c JOIN agents a ON a.id = c.author_id`,
      done.comments.map(({ id, postId, parentId, body, by }) => [id, postId, parentId ?? "null", body, by].join("|")),
    )),
    ...(await compare(
      "vote",
      rows,
      "SELECT CONCAT_WS('|', a.name, v.post_id, v.value) AS it FROM votes v JOIN agents a ON a.id = v.agent_id",
      [...done.votes.values()]
        .filter(({ vote }) => vote !== 0)
        .map(({ by, postId, vote }) => [by, postId, vote].join("|")),
    )),
    ...(await compare(
      "receipt",
      rows,
      `SELECT CONCAT_WS('|', CONVERT(s.book USING utf8mb4), r.seq, r.hash) AS it FROM receipts r JOIN ledger_sessions s ON s.seq = r.seq`,
      sealers.flatMap(({ sealed }) => [...sealed].map(([book, { seq, hash }]) => [book, seq, hash].join("|"))),
    )),
  ];
}

/** Repeats a sample of the acknowledged creates. Each must get exactly the bytes of its first reply. */
export async function auditReplays(caller: Caller, done: Acknowledged): Promise<string[]> {
  const faults: string[] = [];
  for (const { by, call, answer } of done.creates) {
    const again = await caller.call({ ...call, apiKey: done.agents.get(by) }, "plain");
    if (JSON.stringify(again) !== JSON.stringify(answer)) {
      faults.push(
        `${call.path} repeated: ${JSON.stringify(again)} instead of the first reply ${JSON.stringify(answer)}`,
      );
    }
  }
  return faults;
}

async function compare(what: string, rows: Rows, sql: string, acknowledged: string[]): Promise<string[]> {
  const stored = count((await rows<{ it: string }>(sql)).map(({ it }) => it));
  const wanted = count(acknowledged);
  const faults: string[] = [];
  for (const [it, times] of wanted) {
    if (times > 1) faults.push(`a ${what} was acknowledged ${times} times: ${it}`);
    if (!stored.has(it)) faults.push(`a ${what} was acknowledged but is missing: ${it}`);
  }
  for (const [it, times] of stored) {
    if (times > 1) faults.push(`a ${what} is stored ${times} times: ${it}`);
    if (!wanted.has(it)) faults.push(`a ${what} is stored but was never acknowledged: ${it}`);
  }
  return faults;
}

function count(items: string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}

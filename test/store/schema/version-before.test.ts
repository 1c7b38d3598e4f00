// Replicas of earlier versions go on while the new version removes, locks and suspends, and while agents vote on comments. These
// are the statements that they issue. Each must succeed correctly or be refused, and none may bypass a rule.
import { createHash } from "node:crypto";
import type { PoolConnection, ResultSetHeader, RowDataPacket } from "mysql2/promise";
import { describe, expect, it } from "vitest";
import { type Agent, spam, startModerated } from "../../support/moderation.ts";
import { recount } from "../../support/recount.ts";

const service = await startModerated();
const author = await service.register();
const other = await service.register();
const otherId = await idOf(other);

async function idOf({ name }: Agent): Promise<number> {
  const [row] = await service.db.rows<{ id: number }>("SELECT id FROM agents WHERE name = ?", [name]);
  return Number(row?.id);
}

type Statements = (
  run: (sql: string, params?: unknown[]) => Promise<ResultSetHeader & RowDataPacket[]>,
) => Promise<string>;

/** Runs a transaction as that version does. What it answers to a deadlock is 503. */
async function asBefore(statements: Statements): Promise<string> {
  const connection: PoolConnection = await service.db.pool.getConnection();
  try {
    await connection.query("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    await connection.query("START TRANSACTION");
    const outcome = await statements(async (sql, params = []) => (await connection.query(sql, params))[0] as never);
    await connection.query(/^\d/.test(outcome) ? "ROLLBACK" : "COMMIT");
    return outcome;
  } catch (error) {
    await connection.query("ROLLBACK");
    if ((error as { errno?: number }).errno === 1213) return "503";
    throw error;
  } finally {
    connection.release();
  }
}

const comment =
  (post: number, parent: number | null = null): Statements =>
  async (run) => {
    const counted = await run("UPDATE posts SET comment_count = comment_count + 1 WHERE id = ?", [post]);
    if (counted.affectedRows === 0) return "404";
    if (parent !== null) {
      const found = await run("SELECT 1 FROM comments WHERE id = ? AND post_id = ?", [parent, post]);
      if (found.length === 0) return "404 parent_id";
    }
    await run(
      "INSERT INTO comments (post_id, parent_id, author_id, body, created_at) VALUES (?, ?, ?, 'As before', 1)",
      [post, parent, otherId],
    );
    await run("UPDATE agents SET posts = posts + 0, comments = comments + 1, karma = karma + 0 WHERE id = ?", [
      otherId,
    ]);
    return "commented";
  };
const vote =
  (post: number): Statements =>
  async (run) => {
    const [found] = await run(
      "SELECT p.author_id, p.upvotes, p.downvotes, v.value FROM posts p LEFT JOIN votes v ON v.post_id = p.id AND v.agent_id = ? WHERE p.id = ? FOR UPDATE",
      [otherId, post],
    );
    if (found === undefined) return "404";
    if (found.value !== null) return "voted before";
    await run("INSERT INTO votes (post_id, agent_id, value) VALUES (?, ?, 1)", [post, otherId]);
    await run("UPDATE posts SET upvotes = ?, downvotes = ? WHERE id = ?", [
      Number(found.upvotes) + 1,
      found.downvotes,
      post,
    ]);
    await run("UPDATE agents SET posts = posts + 0, comments = comments + 0, karma = karma + 1 WHERE id = ?", [
      found.author_id,
    ]);
    return "voted";
  };
const holders =
  (key: string): Statements =>
  async (run) => {
    const keyHash = createHash("sha256").update(key).digest();
    const found = await run(
      "SELECT id FROM agents WHERE key_hash IN (?) UNION ALL SELECT id FROM agents WHERE previous_key_hash IN (?)",
      [keyHash, keyHash],
    );
    return found.length === 0 ? "401" : "known";
  };

/** As the version before votes on comments removes a comment. */
const remove =
  (id: number): Statements =>
  async (run) => {
    const [found] = await run("SELECT post_id, author_id, body, created_at FROM comments WHERE id = ? FOR UPDATE", [
      id,
    ]);
    if (found === undefined) return "404";
    await run(
      `INSERT INTO removed_comments (id, post_id, parent_id, author_id, body, created_at, edited_at, removed_by, reason,
         removed_at, erase_at)
       SELECT id, post_id, parent_id, author_id, body, created_at, edited_at, 'operator', 'spam', 1, 9000000000000
       FROM comments WHERE id = ?`,
      [id],
    );
    await run("DELETE FROM comments WHERE id = ?", [id]);
    await run("UPDATE posts SET comment_count = comment_count - 1 WHERE id = ?", [found.post_id]);
    await run("UPDATE agents SET posts = posts + 0, comments = comments + -1, karma = karma + 0 WHERE id = ?", [
      found.author_id,
    ]);
    return "removed";
  };
/** As the version before votes on comments restores a comment. */
const restore =
  (id: number): Statements =>
  async (run) => {
    const [found] = await run("SELECT post_id, author_id FROM removed_comments WHERE id = ? FOR UPDATE", [id]);
    if (found === undefined) return "404";
    await run("UPDATE posts SET comment_count = comment_count + 1 WHERE id = ?", [found.post_id]);
    await run("UPDATE agents SET posts = posts + 0, comments = comments + 1, karma = karma + 0 WHERE id = ?", [
      found.author_id,
    ]);
    await run(
      `INSERT INTO comments (id, post_id, parent_id, author_id, body, created_at, edited_at)
       SELECT id, post_id, parent_id, author_id, body, created_at, edited_at FROM removed_comments WHERE id = ?`,
      [id],
    );
    await run("DELETE FROM removed_comments WHERE id = ?", [id]);
    return "restored";
  };

describe("the version before", () => {
  it("removes and restores comments without votes, and not those with votes", async () => {
    const post = await service.post(author);
    const plain = await service.comment(author, post);
    expect(await asBefore(remove(plain))).toBe("removed");
    expect(await asBefore(restore(plain))).toBe("restored");

    const voted = await service.comment(author, post);
    // Its score is 0 again.
    for (const [agent, way] of [
      [await service.register(), "upvote"],
      [await service.register(), "downvote"],
    ] as const) {
      expect((await service.rest(`comments/${voted}/${way}`, { key: agent.key, method: "POST" })).status).toBe(200);
    }
    expect(await asBefore(remove(voted))).toBe("503");
    expect(await recount(service.db)).toEqual([]);
    await service.operator.remove({ commentId: BigInt(voted), reason: spam, keepForDays: 1n });
    expect(await asBefore(restore(voted))).toBe("503");
    expect(await recount(service.db)).toEqual([]);
    await service.operator.restore({ commentId: BigInt(voted) });
    expect((await service.rest(`comments/${voted}`)).body.comment).toMatchObject({
      upvotes: 1,
      downvotes: 1,
      removed: null,
    });

    // A vote that is taken back leaves nothing to lose.
    await service.rest(`comments/${plain}/vote`, { key: other.key, body: { vote: 1 } });
    await service.rest(`comments/${plain}/vote`, { key: other.key, body: { vote: 0 } });
    expect(await asBefore(remove(plain))).toBe("removed");
    expect(await recount(service.db)).toEqual([]);
  });

  it("cannot write to a removed post or comment, and can again after the restore", async () => {
    const post = await service.post(author);
    const parent = await service.comment(author, post);
    await service.operator.remove({ commentId: BigInt(parent), reason: spam, keepForDays: 1n });
    expect(await asBefore(comment(post, parent))).toBe("404 parent_id");
    await service.operator.remove({ postId: BigInt(post), reason: spam, keepForDays: 1n });
    for (const write of [vote(post), comment(post), comment(post, parent)]) expect(await asBefore(write)).toBe("404");
    expect(await recount(service.db)).toEqual([]);
    await service.operator.restore({ postId: BigInt(post) });
    await service.operator.restore({ commentId: BigInt(parent) });
    expect(await asBefore(vote(post))).toBe("voted");
    expect(await asBefore(comment(post, parent))).toBe("commented");
    expect(await recount(service.db)).toEqual([]);
  });

  it("cannot comment on a locked post, and votes on it", async () => {
    const post = await service.post(author);
    await service.operator.lock({ postId: BigInt(post) });
    expect(await asBefore(comment(post))).toBe("503");
    expect(await asBefore(vote(post))).toBe("voted");
    await service.operator.unlock({ postId: BigInt(post) });
    expect(await asBefore(comment(post))).toBe("commented");
    expect(await recount(service.db)).toEqual([]);
  });

  it("knows no key of an agent that is suspended or erased, or whose keys are revoked", async () => {
    const agents = await Promise.all([0, 1, 2].map(() => service.register()));
    const [suspended, revoked, erased] = agents as [Agent, Agent, Agent];
    for (const { key } of agents) expect(await asBefore(holders(key))).toBe("known");
    await service.operator.suspendAgent({ name: suspended.name, reason: spam });
    await service.operator.revokeKeys({ name: revoked.name, reason: spam });
    await service.operator.eraseAgent({ name: erased.name, reason: spam });
    for (const { key } of agents) expect(await asBefore(holders(key))).toBe("401");
    // Its rotation, begun before the suspension, changes nothing either.
    const rotate: Statements = async (run) => {
      const from = createHash("sha256").update(suspended.key).digest();
      const { affectedRows } = await run(
        "UPDATE agents SET previous_key_hash = key_hash, key_hash = ? WHERE id = ? AND key_hash = ?",
        [Buffer.alloc(32, 7), await idOf(suspended), from],
      );
      return affectedRows === 0 ? "401" : "rotated";
    };
    expect(await asBefore(rotate)).toBe("401");
    await service.operator.unsuspendAgent({ name: suspended.name });
    expect(await asBefore(holders(suspended.key))).toBe("known");
  });
});

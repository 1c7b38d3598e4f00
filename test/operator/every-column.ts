// A board with a value in every column that fsck checks, and one wrong bit in it.
import { LedgerOperatorService } from "../../gen/stoa/v1/ledger_operator_service_pb.js";
import { HeadFolder } from "../../src/ledger/head-guard/head-folder.ts";
import { LedgerRecovery } from "../../src/ledger/head-guard/recovery.ts";
import { defaultQuotas } from "../../src/rate-limits/quota.ts";
import { Database } from "../../src/store/database/database.ts";
import { asOperator, TestClock } from "../ledger/support.ts";
import type { TestDatabase } from "../support/database.ts";
import { publishAll, startLogReplica } from "../support/log.ts";
import { createLoggedDatabase } from "../support/logged.ts";
import { type Moderated, spam, startModerated } from "../support/moderation.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { operate } from "./support.ts";

export interface Column {
  table: string;
  name: string;
  type: string;
  charset: string | null;
  isKey: boolean;
  isGenerated: boolean;
}

/** Which rows and bits are wrong. */
export const seed = Number(process.env.STOA_TEST_SEED ?? 7);
const { signal } = new AbortController();

/** A board whose service has stopped, with a value in every column that is checked. */
export async function startPopulated(): Promise<Moderated> {
  const clock = new TestClock(new Date(Date.now() - 2 * 86_400_000).toISOString());
  const { db, key } = await createLoggedDatabase();
  // A service would wait for a second before it takes the log over. The one below does not have the key.
  const replica = await startLogReplica(db.config, key);
  await replica.publisher.publish(signal);
  const populated = await startModerated({
    db,
    config: { rateLimits: defaultQuotas },
    // The daily sealing would sometimes be first.
    overrides: { now: clock.now, sealsDays: false },
  });
  await populate(populated, clock);
  await publishAll(db, replica);
  await replica.publisher.stop();
  return populated;
}

/** Writes rows to every table, with a value in every column that is checked. */
async function populate(populated: Moderated, clock: TestClock) {
  const { app, rest, db, post, comment, operator, register, found, connect } = populated;
  const [author, other, moderator] = [await register(), await register(), await register()];
  const [leaver, banned] = [await register(), await register()];
  await rest("agents/register", {
    body: { name: "with-all", resident: 5, bio: "Something to read" },
    headers: { "idempotency-key": "registration-of-the-agent-with-all-columns" },
  });
  // The migration made the first community, by the clock of the database.
  await db.rows("UPDATE communities SET created_at = ?", [clock.ms]);
  await found(other, "place");
  await operator.updateCommunity({ name: "place", appoint: [moderator.name], description: "A place for tests" });
  const standing = await post(author, { title: `For @${other.name}`, body: "A body", community: "place" });
  const removed = await post(author, { title: "Kept", body: "Kept for a while", community: "place" });
  const erased = await post(author, { title: "Gone", body: "Gone at once" });
  const parent = await comment(other, standing, { body: `A comment for @${moderator.name}` });
  const reply = await comment(author, standing, { parent_id: parent });
  const kept = await comment(other, standing, { body: "Kept" });
  const gone = await comment(author, standing, { body: "Gone", parent_id: parent });
  for (const [path, key] of [
    [`posts/${standing}/upvote`, other.key],
    [`posts/${removed}/downvote`, other.key],
    [`comments/${parent}/upvote`, author.key],
    [`comments/${kept}/downvote`, author.key],
  ] as const) {
    await rest(path, { key, method: "POST", headers: { "idempotency-key": `vote-of-${path.replaceAll("/", "-")}` } });
  }
  clock.ms += 1000;
  await rest(`posts/${standing}`, { method: "PATCH", key: author.key, body: { body: "Edited" } });
  await rest(`posts/${removed}`, { method: "PATCH", key: author.key, body: { body: "Edited, too" } });
  await rest(`comments/${parent}`, { method: "PATCH", key: other.key, body: { body: "Edited" } });
  await rest(`comments/${kept}`, { method: "PATCH", key: other.key, body: { body: "Edited" } });
  await rest(`posts/${standing}/report`, { key: other.key, body: { reason: "spam", note: "Look" } });
  await rest(`posts/${standing}`, { method: "PATCH", key: author.key, body: { body: "Edited once more" } });
  await rest(`comments/${kept}/report`, { key: author.key, body: { reason: "spam", note: "Look" } });
  await operator.lock({ postId: BigInt(standing) });
  await operator.lock({ postId: BigInt(removed) });
  clock.ms += 1000;
  await operator.remove({ postId: BigInt(removed), reason: spam, keepForDays: 30n, note: "A note" });
  await operator.remove({ commentId: BigInt(kept), reason: spam, keepForDays: 30n });
  await rest(`posts/${erased}`, { method: "DELETE", key: author.key });
  await rest(`comments/${gone}`, { method: "DELETE", key: author.key });
  await rest(`comments/${reply}/upvote`, { key: other.key, method: "POST" });
  await rest("agents/me/key", {
    key: author.key,
    body: { grace_seconds: 600 },
    headers: { "idempotency-key": "rotation-of-the-author-s-key-number-one" },
  });
  await rest("agents/me/key", { key: banned.key, body: { grace_seconds: 600 } });
  await post(leaver, { title: `For @${author.name}` });
  await rest("agents/me/inbox/read", { key: other.key, body: { up_to: 1 } });
  for (const path of [`threads/${standing}`, "communities/general", `agents/${other.name}`]) {
    await rest(`subscriptions/${path}`, { method: "PUT", key: author.key });
  }
  await operator.suspendAgent({ name: banned.name, reason: spam });
  await operator.eraseAgent({ name: leaver.name, reason: spam });
  const seal = { book: "a book", session: "2026-01-05", note: "a note", source: "feed:test" };
  const { receipt } = await connect(LedgerOperatorService).sealSession(seal, asOperator);
  const ts = Date.parse(String(receipt?.document?.ts));
  await db.rows("INSERT INTO ledger_clock_words VALUES (?, ?, ?)", [Number(receipt?.seq), ts, ts]);
  await rest("/house/verify?from=0");
  clock.ms += 86_400_000;
  await connect(LedgerOperatorService).sealDaily(
    { date: new Date(clock.ms - 86_400_000).toISOString().slice(0, 10) },
    asOperator,
  );
  await rest("posts", {
    key: other.key,
    body: { title: "After the day" },
    headers: { "idempotency-key": "a-post-after-the-day" },
  });
  const store = new Database({ address: db.config, connections: 2 });
  const folder = new HeadFolder(scratchFolder(), "private");
  const recovery = new LedgerRecovery({ db: store, folder, now: clock.now, warn: () => {} });
  await recovery.seal(signal, { abandoned: { seq: 900, hash: "a".repeat(64) }, note: "Lost" });
  await store.close();
  // Only versions of Stoa from before say what a reply shows.
  await db.rows("UPDATE idempotency_replies SET item = 'post', item_id = 1 WHERE sealed = 0 LIMIT 1");
  // Search is checked for what is an hour older than this round.
  await app.close();
  await db.rows("REPLACE INTO search_rounds VALUES (1, ?)", [clock.ms + 86_400_000]);
}

/** All columns of the schema. */
export async function readColumns(db: TestDatabase): Promise<Column[]> {
  const rows = await db.rows<Record<string, string | null>>(
    `SELECT table_name AS t, column_name AS c, data_type AS type, character_set_name AS charset, column_key AS k, extra AS extra
     FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position`,
  );
  return rows.map(({ t, c, type, charset, k, extra }) => ({
    table: t as string,
    name: c as string,
    type: type as string,
    charset: charset ?? null,
    isKey: k === "PRI",
    isGenerated: /generated/i.test(extra ?? ""),
  }));
}

const bitsOf: Record<string, bigint> = { tinyint: 8n, int: 32n, bigint: 64n };

/** Flips one bit of a value. @param bit of a number, counted from 0; by default a random one */
function flip({ type }: Column, value: unknown, random: () => number, bit?: number): unknown {
  const bits = bitsOf[type];
  if (bits !== undefined) {
    const at = BigInt(bit ?? Math.floor(random() * Number(bits)));
    return BigInt.asIntN(Number(bits), BigInt(value as string) ^ (1n << at)).toString();
  }
  const bytes = Buffer.from(value as Buffer);
  const at = Math.floor(random() * bytes.length);
  bytes[at] = (bytes[at] as number) ^ (1 << Math.floor(random() * 8));
  return bytes;
}

/** Flips a bit in a random row of a column, and runs `work` meanwhile. @returns false if no row has a value that can change */
export async function withWrongBit(
  db: TestDatabase,
  column: Column,
  columns: Column[],
  random: () => number,
  work: () => Promise<void>,
  bit?: number,
): Promise<boolean> {
  const { table, name, charset } = column;
  const isText = bitsOf[column.type] === undefined;
  const keys = columns.filter((each) => each.table === table && each.isKey).map((each) => each.name);
  const value = isText ? `CAST(${name} AS BINARY)` : `CAST(${name} AS CHAR)`;
  const rows = await db.rows<Record<string, unknown>>(
    `SELECT *, ${value} AS old_value FROM ${table} WHERE ${name} IS NOT NULL ${isText ? `AND LENGTH(${name}) > 0` : ""}`,
  );
  if (rows.length === 0) return false;
  const connection = await db.pool.getConnection();
  try {
    await connection.query("SET SESSION foreign_key_checks = 0");
    for (let tries = 0; tries < 40; tries++) {
      const row = rows[Math.floor(random() * rows.length)] as Record<string, unknown>;
      const wrong = flip(column, row.old_value, random, bit);
      const put = charset === null ? "?" : `CONVERT(? USING ${charset})`;
      const where = keys.map((key) => `${key} = ${key === name ? put : "?"}`).join(" AND ");
      const idOf = (own: unknown) => keys.map((key) => (key === name ? own : row[key]));
      const set = (from: unknown, to: unknown) =>
        connection.query(`UPDATE ${table} SET ${name} = ${put} WHERE ${where}`, [to, ...idOf(from)]);
      try {
        await set(row.old_value, wrong);
      } catch {
        continue; // No character, out of range, or another row's key.
      }
      const [[now]] = (await connection.query(
        `SELECT ${value} AS now FROM ${table} WHERE ${where}`,
        idOf(wrong),
      )) as unknown as [{ now: unknown }[]];
      const isChanged = isText ? Buffer.from(wrong as Buffer).equals(now?.now as Buffer) : now?.now === wrong;
      if (isChanged) {
        await work();
        // fsck itself writes the row of its last run again.
        if (keys.includes(name)) await connection.query(`DELETE FROM ${table} WHERE ${where}`, idOf(row.old_value));
        await set(wrong, row.old_value);
        return true;
      }
      await set(wrong, row.old_value).catch(() => {});
    }
    return false;
  } finally {
    await connection.query("SET SESSION foreign_key_checks = 1");
    connection.release();
  }
}

/** Runs `stoa fsck`. */
export const fsck = async (db: TestDatabase, signal?: AbortSignal, onLine: () => void = () => {}) => {
  const out: string[] = [];
  const onOut = (line: string) => {
    // The test itself has dropped the triggers.
    if (/the trigger \w+ is missing$/.test(line)) return;
    out.push(line);
    onLine();
  };
  const { status } = await operate(db.config, ["fsck"], signal, onOut);
  return { status, out };
};

/** Runs it up to its first finding. @returns whether there is one */
export async function findsSomething(db: TestDatabase): Promise<boolean> {
  const found = new AbortController();
  const { status } = await fsck(db, found.signal, () => found.abort());
  // With exit status 2 or 3, fsck says that the database is not one that it can check.
  return found.signal.aborted || status >= 2;
}

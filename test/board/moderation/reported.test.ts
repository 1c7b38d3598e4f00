// What moderators judge after the author of a reported text was quicker: on two replicas, with real races.
import { beforeEach, describe, expect, it } from "vitest";
import { Board } from "../../../src/board/board.ts";
import { eraseExpiredTexts } from "../../../src/board/moderation/sweep.ts";
import { openStore } from "../../support/database.ts";
import { type Agent, type Moderated, spam, startModerated } from "../../support/moderation.ts";
import { recount } from "../../support/recount.ts";
import type { Reply } from "../../support/service.ts";

const days = 86_400_000;
const clock = { ms: Date.parse("2026-05-01T12:00:00Z") };
const community = "agora";

const overrides = { now: () => clock.ms };
const service = await startModerated({ overrides });
const replicas: [Moderated, Moderated] = [service, await startModerated({ overrides, db: service.db })];
const [author, moderator] = [await service.register(), await service.register()];
const reporters = await Promise.all(Array.from({ length: 5 }, () => service.register()));
await service.found(moderator, community);

beforeEach(() => {
  clock.ms += 1;
});

const reporter = (n: number) => reporters[n] as Agent;
type Kind = "post" | "comment";

/** Something by the author, and its path. */
async function write(kind: Kind, body = "As it was"): Promise<{ id: number; path: string }> {
  const postId = await service.post(author, { community, title: "The title", ...(kind === "post" ? { body } : {}) });
  const id = kind === "post" ? postId : await service.comment(author, postId, { body });
  return { id, path: `${kind}s/${id}` };
}

const report = (path: string, who = reporter(0), reason = "spam", by = service) =>
  by.rest(`${path}/report`, { key: who.key, body: { reason } });
const edit = (path: string, body: string, by = service) =>
  by.rest(path, { method: "PATCH", key: author.key, body: { body } });
const deletion = (path: string, by = service) => by.rest(path, { method: "DELETE", key: author.key });
const removal = (path: string, by = service, reason = "spam") =>
  by.rest(`${path}?reason=${reason}`, { method: "DELETE", key: moderator.key });

/** The open reports about something, as its moderator sees them. */
async function reportsAbout(kind: Kind, id: number) {
  const { status, body } = await service.rest("agents/me/reports?limit=100", { key: moderator.key });
  expect(status).toBe(200);
  return body.reports.filter((each: Record<string, unknown>) =>
    kind === "comment" ? each.comment_id === id : each.comment_id === null && each.post_id === id,
  );
}
const bodiesAbout = async (kind: Kind, id: number): Promise<(string | undefined)[]> =>
  (await reportsAbout(kind, id)).map((each: { reported_text: { body: string } | null }) => each.reported_text?.body);

/** Lets time pass for what is kept. The clock itself stays: a service that has missed days lets nothing expire. */
const pass = (ms: number) => service.db.rows("UPDATE reported_texts SET erase_at = erase_at - ?", [ms]);

const board = new Board(openStore(service.db, 2), () => clock.ms);
const sweep = () => eraseExpiredTexts(board, new AbortController().signal);
const textsOf = (kind: Kind, id: number) =>
  service.db.rows("SELECT version FROM reported_texts WHERE item = ? AND item_id = ?", [kind, id]);
const actsOn = (kind: Kind, id: number) =>
  service.db.rows("SELECT act, role, reason FROM moderations WHERE item = ? AND item_id = ?", [kind, id]);

/** Open reports of a version that neither stands nor is kept. */
const withoutText = (kind: Kind) =>
  service.db.rows(
    `SELECT r.id FROM reports r LEFT JOIN ${kind}s i ON i.id = r.item_id AND COALESCE(i.edited_at, 0) = r.version
       LEFT JOIN reported_texts t ON t.item_id = r.item_id AND t.item = r.item AND t.version = r.version
     WHERE r.item = '${kind}' AND r.is_open = 1 AND i.id IS NULL AND t.item_id IS NULL`,
  );

describe.each(["post", "comment"] as const)("a reported %s", (kind) => {
  const title = kind === "post" ? "The title" : "";

  it("that its author changes is seen by moderators and the operator as it was, for seven days", async () => {
    const { id, path } = await write(kind);
    const made = await report(path);
    expect(made.body.report.reported_text).toBeNull();
    expect(await bodiesAbout(kind, id)).toEqual([undefined]);
    expect((await edit(path, "Better words")).status).toBe(200);
    const until = new Date(clock.ms + 7 * days).toISOString();
    expect(await reportsAbout(kind, id)).toEqual([
      { ...made.body.report, agent: null, reported_text: { author: author.name, title, body: "As it was", until } },
    ]);
    const { reports } = await service.operator.listReports({ limit: 100n });
    expect(reports.find((each) => Number(each.id) === made.body.report.id)?.reportedText).toMatchObject({
      author: author.name,
      body: "As it was",
    });
    // A repeat of the report shows nothing to the one who reports.
    expect((await report(path)).body.report).toEqual(made.body.report);
    expect(JSON.stringify((await service.rest(path)).body)).not.toContain("As it was");
    await pass(7 * days - 1);
    expect(await bodiesAbout(kind, id)).toEqual(["As it was"]);
    await pass(1);
    expect(await bodiesAbout(kind, id)).toEqual([undefined]);
    await sweep();
    expect(await textsOf(kind, id)).toEqual([]);
    // What stands can still be judged.
    expect(await reportsAbout(kind, id)).toHaveLength(1);
  });

  it("is kept once for each version that is reported, and not for others", async () => {
    const { id, path } = await write(kind, "First");
    for (const n of [0, 1, 2]) await report(path, reporter(n));
    await edit(path, "Second");
    await edit(path, "Third");
    await report(path, reporter(3));
    await edit(path, "Fourth");
    await edit(path, "Fifth");
    await report(path, reporter(4));
    expect((await bodiesAbout(kind, id)).sort()).toEqual(["First", "First", "First", "Third", undefined]);
    expect(await textsOf(kind, id)).toHaveLength(2);
    await deletion(path);
    expect((await bodiesAbout(kind, id)).sort()).toEqual(["Fifth", "First", "First", "First", "Third"]);
    expect(await textsOf(kind, id)).toHaveLength(3);
  });

  it("that its author deletes stays reported with its text until a moderator or the operator removes it, too", async () => {
    const { id, path } = await write(kind);
    await report(path);
    expect((await deletion(path)).body[kind].removed).toMatchObject({ by: "author", reason: null });
    expect(await bodiesAbout(kind, id)).toEqual(["As it was"]);
    clock.ms += 1;
    const { status, body } = await removal(path);
    expect(status).toBe(200);
    const removed = { by: "moderator", reason: "spam", at: new Date(clock.ms).toISOString() };
    expect(body[kind].removed).toEqual(removed);
    expect((await service.rest(path)).body[kind]).toMatchObject({ removed, body: "" });
    expect((await removal(path, service, "harassment")).body[kind].removed).toEqual(removed);
    expect((await deletion(path)).body[kind].removed).toEqual(removed);
    expect(await actsOn(kind, id)).toEqual([{ act: "remove", role: "moderator", reason: "spam" }]);
    expect(await reportsAbout(kind, id)).toEqual([]);
    expect(await textsOf(kind, id)).toEqual([]);
    const restored = await service.rest(`${path}/restore`, { method: "POST", key: moderator.key });
    expect([restored.status, restored.body.error]).toEqual([404, "not_found"]);

    const other = await write(kind);
    await report(other.path);
    await deletion(other.path);
    await service.operator.remove({ [`${kind}Id`]: BigInt(other.id), reason: spam, keepForDays: 30n });
    expect(await actsOn(kind, other.id)).toEqual([{ act: "remove", role: "operator", reason: "spam" }]);
    await expect(service.operator.restore({ [`${kind}Id`]: BigInt(other.id) })).rejects.toThrow(/erased/);
  });

  it("that its author deletes stays reported for seven days if nobody judges it", async () => {
    const { id, path } = await write(kind, "First");
    await report(path);
    await edit(path, "Second");
    await pass(3 * days);
    await deletion(path);
    await pass(4 * days);
    await sweep();
    expect(await bodiesAbout(kind, id)).toEqual([undefined]);
    await pass(3 * days - 1);
    await sweep();
    expect(await reportsAbout(kind, id)).toHaveLength(1);
    await pass(1);
    await sweep();
    expect(await reportsAbout(kind, id)).toEqual([]);
    expect(await textsOf(kind, id)).toEqual([]);
    expect(await actsOn(kind, id)).toEqual([]);
  });

  it("leaves no text if the only reason is that it is illegal, personal data or a secret", async () => {
    for (const reason of ["illegal", "personal_data", "secret"]) {
      const { id, path } = await write(kind);
      await report(path, reporter(0), reason);
      await (reason === "illegal" ? edit(path, "Better words") : deletion(path));
      const nothing = { author: author.name, title: "", body: "" };
      expect((await reportsAbout(kind, id))[0].reported_text).toMatchObject(nothing);
    }
    const mixed = await write(kind);
    await report(mixed.path, reporter(0), "illegal");
    await report(mixed.path, reporter(1), "harassment");
    await deletion(mixed.path);
    expect(await bodiesAbout(kind, mixed.id)).toEqual(["As it was", "As it was"]);
    await removal(mixed.path, service, "illegal");
    expect(await textsOf(kind, mixed.id)).toEqual([]);
  });

  it("is kept in twenty versions at most: then its author may only delete it", async () => {
    const { id, path } = await write(kind, "First");
    await report(path, reporter(0));
    await edit(path, "Second");
    // As if nineteen others had been reported and changed.
    const [{ author_id: by, erase_at: until } = {}] = await service.db.rows<Record<string, number>>(
      "SELECT author_id, erase_at FROM reported_texts WHERE item = ? AND item_id = ?",
      [kind, id],
    );
    const others = Array.from({ length: 19 }, (_, n) => [id, kind, n + 1, by, "", "Another", until]);
    const columns = "item_id, item, version, author_id, title, body, erase_at";
    await service.db.pool.query(`INSERT INTO reported_texts (${columns}) VALUES ?`, [others]);
    // Nobody has reported this one.
    expect((await edit(path, "Third")).status).toBe(200);
    await report(path, reporter(1));
    const refused = await edit(path, "Fourth");
    expect([refused.status, refused.body.error]).toEqual([403, "forbidden"]);
    expect((await service.rest(path)).body[kind].body).toBe("Third");
    expect((await deletion(path)).status).toBe(200);
    expect(await textsOf(kind, id)).toHaveLength(21);
    expect((await bodiesAbout(kind, id)).sort()).toEqual(["First", "Third"]);
    await pass(7 * days);
    await sweep();
    expect(await textsOf(kind, id)).toEqual([]);
  });

  it("leaves the moderator something to judge, whoever is first", async () => {
    const lost = await withoutText(kind);
    for (let round = 0; round < 4; round++) {
      clock.ms += 1;
      const [edited, deleted] = [await write(kind), await write(kind)];
      const [first, second] = round % 2 === 0 ? replicas : replicas.toReversed();
      const both = async (report: () => Promise<Reply>, change: () => Promise<Reply>): Promise<Reply[]> =>
        round < 2 ? Promise.all([report(), change()]) : (await Promise.all([change(), report()])).toReversed();
      const [made, changed] = await both(
        () => report(edited.path, reporter(0), "spam", first),
        () => edit(edited.path, "Better words", second),
      );
      expect([made?.status, changed?.status]).toEqual([200, 200]);
      const [late, gone] = await both(
        () => report(deleted.path, reporter(0), "spam", first),
        () => deletion(deleted.path, second),
      );
      expect(gone?.status).toBe(200);
      expect([200, 404]).toContain(late?.status);
      expect(await bodiesAbout(kind, deleted.id)).toEqual(late?.status === 200 ? ["As it was"] : []);
    }
    // A report is about the text before the edit, which is kept, or about the one that stands.
    expect(await withoutText(kind)).toEqual(lost);
    expect(await recount(service.db)).toEqual([]);
  });

  it("gets one act and one reason if its author and several moderators remove it at once", async () => {
    for (let round = 0; round < 3; round++) {
      clock.ms += 1;
      const { id, path } = await write(kind);
      await report(path);
      await edit(path, "Better words");
      const [first, second] = replicas;
      const replies = await Promise.all([
        deletion(path, first),
        removal(path, second),
        removal(path, first),
        deletion(path, second),
        removal(path, second),
      ]);
      expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
      expect(await actsOn(kind, id)).toEqual([{ act: "remove", role: "moderator", reason: "spam" }]);
      expect((await service.rest(path)).body[kind].removed).toMatchObject({ by: "moderator", reason: "spam" });
      expect(await reportsAbout(kind, id)).toEqual([]);
      expect(await textsOf(kind, id)).toEqual([]);
    }
    expect(await recount(service.db)).toEqual([]);
  });

  it("is written by a report, so that servers of a cluster see it, and stays as it was", async () => {
    const { path } = await write(kind);
    const { pool } = service.db;
    const before = (await service.rest(path)).body[kind];
    await pool.query("CREATE TABLE writes_seen (id BIGINT)");
    const insert = "INSERT INTO writes_seen VALUES (NEW.id)";
    await pool.query(`CREATE TRIGGER sees_writes AFTER UPDATE ON ${kind}s FOR EACH ROW ${insert}`);
    expect((await report(path)).status).toBe(200);
    await pool.query("DROP TRIGGER sees_writes");
    const seen = await service.db.rows<{ id: number }>("SELECT DISTINCT id FROM writes_seen");
    expect(seen).toEqual([{ id: before.id }]);
    expect((await service.rest(path)).body[kind]).toEqual(before);
    await pool.query("DROP TABLE writes_seen");
  });
});

it("goes when the operator erases its author with all content, or removes all content", async () => {
  for (const way of ["erase", "remove"] as const) {
    const leaver = await service.register();
    const writes: [Kind, number][] = [];
    for (const kind of ["post", "comment"] as const) {
      for (const method of ["PATCH", "DELETE"]) {
        const postId = await service.post(kind === "post" ? leaver : moderator, { community });
        const id = kind === "post" ? postId : await service.comment(leaver, postId);
        writes.push([kind, id]);
        await report(`${kind}s/${id}`);
        const body = method === "PATCH" ? { body: "Other words" } : undefined;
        expect((await service.rest(`${kind}s/${id}`, { method, key: leaver.key, body })).status).toBe(200);
        expect(await textsOf(kind, id)).toHaveLength(1);
      }
    }
    const request = { name: leaver.name, reason: spam };
    const { complete } =
      way === "erase"
        ? await service.operator.eraseAgent({ ...request, content: true })
        : await service.operator.removeAgentContent(request);
    expect(complete).toBe(true);
    for (const [kind, id] of writes) {
      expect(await textsOf(kind, id)).toEqual([]);
      expect(await reportsAbout(kind, id)).toEqual([]);
    }
  }
  expect(await recount(service.db)).toEqual([]);
});

it("is kept when the author goes with all words", async () => {
  const spammer = await service.register();
  const first = await service.post(spammer, { community, title: "The title", body: "Buy now" });
  await report(`posts/${first}`);
  const left = await service.rest("agents/me?content=true", { method: "DELETE", key: spammer.key });
  expect([left.status, left.body.complete]).toEqual([200, true]);
  expect((await service.rest(`posts/${first}`)).body.post).toMatchObject({ body: "", removed: { by: "author" } });
  expect(await bodiesAbout("post", first)).toEqual(["Buy now"]);
});

// Everybody acts on one post at once, on two replicas: votes, comments, edits, removals, restores, locks and reports.
// Afterwards every count equals a recount, feeds agree with the rows, and the record lists each act once.
import { Code, type ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { openStore } from "../../support/database.ts";
import { type Agent, type Moderated, spam, startModerated } from "../../support/moderation.ts";
import { randomNumbers } from "../../support/posts.ts";
import { recount } from "../../support/recount.ts";
import { recountLines } from "../recount/lines.ts";

const community = "arena";

const replica = (turn: number) => replicas[turn % 2] as Moderated;
const agent = (turn: number) => agents[turn % agents.length] as Agent;

const config = { siteUrl: "https://stoa.test" };
const first = await startModerated({ config });
const replicas: [Moderated, Moderated] = [first, await startModerated({ config, db: first.db })];
const agents = await Promise.all(Array.from({ length: 24 }, (_, turn) => replica(turn).register()));
await first.found(agent(0), community);
for (const turn of [1, 2]) {
  const path = `communities/${community}/moderators/${agent(turn).name}`;
  expect((await first.rest(path, { method: "PUT", key: agent(0).key })).status).toBe(200);
}

/** A refusal by the operator's RPC counts like one by REST. */
async function byOperator(call: Promise<unknown>): Promise<void> {
  await call.catch((error: ConnectError) => {
    if (error.code !== Code.NotFound) throw error;
  });
}

/** The acts of the record, without gaps, and what they say together about each item. */
async function checkRecord({ db }: Moderated): Promise<void> {
  const acts = await db.rows<{ id: number; act: string; item: string; item_id: number; created_at: number }>(
    "SELECT id, act, item, item_id, created_at FROM moderations ORDER BY id",
  );
  expect(acts.map(({ id }) => id)).toEqual(acts.map((_, index) => index + 1));
  expect(await db.rows("SELECT newest FROM moderation_head")).toEqual([{ newest: acts.length }]);
  expect(["appoint", "lock", "remove", "restore", "unlock"]).toEqual(
    expect.arrayContaining([...new Set(acts.map(({ act }) => act))]),
  );
  // A restore follows a removal, and never another restore.
  for (const item of new Set(acts.map((each) => `${each.item} ${each.item_id}`))) {
    const own = acts.filter((each) => `${each.item} ${each.item_id}` === item).map(({ act }) => act);
    const moves = own.filter((act) => act === "remove" || act === "restore");
    for (const [index, act] of moves.entries()) if (act === "restore") expect(moves[index - 1], item).toBe("remove");
    const locks = own.filter((act) => act === "lock" || act === "unlock");
    for (const [index, act] of locks.entries()) expect(act, item).toBe(index % 2 === 0 ? "lock" : "unlock");
  }
}

async function checkAll(service: Moderated): Promise<void> {
  expect(await recount(service.db)).toEqual([]);
  const db = openStore(service.db, 2);
  expect(await recountLines(db)).toEqual([]);
  const standing = await service.db.rows<{ id: number }>(
    "SELECT id FROM posts ORDER BY created_at DESC, id DESC LIMIT 25",
  );
  for (const each of replicas) {
    const shown = (await each.rest("feed?sort=new")).body.posts.map(({ id }: { id: number }) => id);
    expect(shown).toEqual(standing.map(({ id }) => id));
  }
}

describe("many agents at once", () => {
  it("act on one post and its comments without failures, and every count and inbox is right afterwards", async () => {
    const [service] = replicas;
    const author = agent(3);
    const post = await service.post(author, { community, title: "The contested post" });
    const other = await service.post(agent(4), { community });
    const comments = await Promise.all(Array.from({ length: 10 }, (_, n) => service.comment(agent(4 + n), post)));
    const random = randomNumbers(7);
    const pick = (count: number) => Math.floor(random() * count);
    const tally = new Set<string>();
    const act = async (turn: number) => {
      const [at, { key }] = [pick(comments.length), agent(pick(agents.length))];
      const comment = comments[at];
      const judge = agent(pick(3)).key;
      const body = `To @${agent(pick(24)).name}, @${agent(pick(24)).name} and @${author.name}`;
      const [standing, reason] = [`posts/${post}`, "reason=spam"];
      const ask = async (path: string, method: string, by = key, body?: object) => {
        const reply = await replica(turn).rest(path, { method, key: by, ...(body === undefined ? {} : { body }) });
        tally.add(`${reply.status} ${reply.body.error ?? "ok"}`);
      };
      const acts = [
        () => ask(`${standing}/vote`, "POST", key, { vote: pick(3) - 1 }),
        () => ask(`posts/${other}/vote`, "POST", key, { vote: 1 }),
        () => ask(`comments/${comment}/vote`, "POST", key, { vote: pick(3) - 1 }),
        () => ask(`${standing}/comments`, "POST", key, { body }),
        () => ask(`${standing}/comments`, "POST", key, { body, parent_id: comment }),
        () => ask(standing, "PATCH", author.key, { body }),
        () => ask(`comments/${comment}`, "PATCH", agent(4 + at).key, { body }),
        () => ask(`${standing}?${reason}`, "DELETE", judge),
        () => ask(`comments/${comment}?${reason}`, "DELETE", judge),
        // Twice as often as removals, so that something stands most of the time.
        () => ask(`${standing}/restore`, "POST", judge),
        () => ask(`${standing}/restore`, "POST", judge),
        () => ask(`comments/${comment}/restore`, "POST", judge),
        () => ask(`posts/${pick(2) === 0 ? post : other}/lock`, "POST", judge),
        () => ask(`posts/${pick(2) === 0 ? post : other}/unlock`, "POST", judge),
        () => ask(`${standing}/report`, "POST", key, { reason: "other" }),
        () => ask(`comments/${comment}/report`, "POST", key, { reason: "spam" }),
        () => ask("agents/me/inbox/read", "POST", key, { up_to: 1 + pick(40) }),
        () => byOperator(replica(turn).operator.remove({ postId: BigInt(post), reason: spam, keepForDays: 1n })),
        () => byOperator(replica(turn).operator.restore({ postId: BigInt(post) })),
      ];
      await acts[pick(acts.length)]?.();
    };
    // All at once would outlast the time of a call on a busy machine.
    let turn = 0;
    const callers = Array.from({ length: 20 }, async () => {
      while (turn < 300) await act(turn++);
    });
    await Promise.all(callers);
    // Refusals depend on who was first.
    const expected = ["200 ok", "201 ok", "403 forbidden", "403 own_content", "404 not_found"];
    expect(expected).toEqual(expect.arrayContaining([...tally]));
    // A post that is locked or removed most of the time takes no comment.
    expect([...tally]).toContain("200 ok");
    await checkRecord(service);
    await checkAll(service);
  });

  it("an author's own removals and those of others leave nothing of the text, whoever was first", async () => {
    const [service] = replicas;
    for (let round = 0; round < 2; round++) {
      const author = agent(5 + round);
      const post = await service.post(author, {
        community,
        title: `Secret title ${round}`,
        body: `Secret body ${round}`,
      });
      const comment = await service.comment(author, post, { body: `Secret comment ${round}` });
      await Promise.all([
        ...agents
          .slice(10, 20)
          .map(({ key }, turn) => replica(turn).rest(`posts/${post}/vote`, { key, body: { vote: 1 } })),
        ...["post", "comment"].flatMap((kind) =>
          [0, 1].flatMap((turn) => [
            replica(turn).rest(`${kind}s/${kind === "post" ? post : comment}`, { method: "DELETE", key: author.key }),
            replica(turn).rest(`${kind}s/${kind === "post" ? post : comment}?reason=spam`, {
              method: "DELETE",
              key: agent(turn).key,
            }),
            replica(turn).rest(`${kind}s/${kind === "post" ? post : comment}/restore`, {
              method: "POST",
              key: agent(turn).key,
            }),
          ]),
        ),
      ]);
      // The last word is the author's.
      for (const path of [`posts/${post}`, `comments/${comment}`]) {
        const { status, body } = await service.rest(path, { method: "DELETE", key: author.key });
        expect(status).toBe(200);
        expect((body.post ?? body.comment).author).toEqual({ name: "[removed]", resident: null });
      }
      for (const table of ["removed_posts", "removed_comments"]) {
        const rows = await service.db.rows<{ body: string }>(
          `SELECT body, erase_at FROM ${table} WHERE author_id = (SELECT id FROM agents WHERE name = ?) AND body LIKE 'Secret%'`,
          [author.name],
        );
        expect(rows).toEqual([]);
      }
    }
    await checkAll(service);
  });
});

// What an agent says of itself, and what it wrote: its posts and its comments, newest first, by cursor.
import { describe, expect, it } from "vitest";
import { type Agent, spam, startModerated } from "../support/moderation.ts";
import { recount } from "../support/recount.ts";

let now = Date.UTC(2026, 3, 5);

const service = await startModerated({ overrides: { now: () => now } });
const agent = await service.register("Epictetus_1-A");
const other = await service.register();

describe("an agent's own words", () => {
  const patch = (bio: string | undefined, key: string) =>
    service.rest("agents/me", { key, method: "PATCH", body: { bio } });
  const found = async (word: string) => (await service.rest(`search?type=agents&q=${word}`)).body.agents.length;

  it("are found by search as they are now, and an edit that changes nothing is not charged", async () => {
    const { key } = await service.register();
    expect((await patch("Ataraxia", key)).status).toBe(200);
    expect([await found("ataraxia"), await found("apatheia")]).toEqual([1, 0]);
    const charged = () => service.db.rows("SELECT * FROM agent_limits");
    const edited = (await patch("Apatheia", key)).body.agent;
    expect(edited.bio_edited_at).toBe(new Date(now).toISOString());
    const before = await charged();
    now += 60_000;
    await patch("Apatheia", key);
    expect((await patch(undefined, key)).body.agent).toEqual(edited);
    expect(await charged()).toEqual(before);
    expect([await found("ataraxia"), await found("apatheia")]).toEqual([0, 1]);
    expect(await recount(service.db)).toEqual([]);
  });
});

describe("an agent's profile", () => {
  it("lists the agent's 10 newest posts, newest first, and orders ties by id", async () => {
    expect((await service.rest(`agents/${agent.name}`)).body.recent_posts).toEqual([]);
    const posts: { id: number; at: number }[] = [];
    for (const minute of [3, 1, 2, 5, 5, 5, 4, 9, 8, 7, 6, 3, 3]) {
      now = Date.UTC(2026, 3, 6, 0, minute);
      posts.push({ id: await service.post(agent), at: now });
      await service.post(other);
    }
    const { agent: profile, recent_posts } = (await service.rest(`agents/${agent.name}`)).body;
    expect(profile.posts).toBe(13);
    const expected = posts.toSorted((a, b) => b.at - a.at || b.id - a.id).slice(0, 10);
    expect(recent_posts.map(({ id }: { id: number }) => id)).toEqual(expected.map(({ id }) => id));
    for (const { author } of recent_posts) expect(author.name).toBe(agent.name);
  });

  // That no other name leads to it is in test/services/errors.test.ts.
  it("is found by its name in any case, and shows the name as it was registered", async () => {
    for (const name of ["Epictetus_1-A", "EPICTETUS_1-A", "ePiCtEtUs_1-a", "%45pictetus_1-A"]) {
      expect((await service.rest(`agents/${name}`)).body.agent.name).toBe("Epictetus_1-A");
    }
  });
});

type Kind = "posts" | "comments";

interface Item {
  id: number;
  created_at: string;
  author: { name: string };
}

async function pages(name: string, kind: Kind, limit: number): Promise<Item[][]> {
  const all: Item[][] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const { status, body } = await service.rest(
      `agents/${name}/${kind}?limit=${limit}${cursor === undefined ? "" : `&cursor=${cursor}`}`,
    );
    expect(status).toBe(200);
    expect(Object.keys(body).filter((name) => name !== "post_titles")).toEqual(["ok", kind, "next_cursor"]);
    all.push(body[kind]);
    cursor = body.next_cursor;
  }
  return all;
}

/** Creates posts or comments of an agent at these minutes. @returns their ids, newest first */
async function write(agent: Agent, kind: Kind, minutes: readonly number[]): Promise<number[]> {
  const post = await service.post(other);
  const made: { id: number; at: number }[] = [];
  for (const minute of minutes) {
    now = Date.UTC(2026, 3, 6, 0, minute);
    const id = kind === "posts" ? await service.post(agent) : await service.comment(agent, post);
    // A comment is later than those before it on its post, whatever the clock says.
    made.push({ id, at: kind === "posts" ? now : 0 });
    await service.comment(other, post);
  }
  return made.toSorted((a, b) => b.at - a.at || b.id - a.id).map(({ id }) => id);
}

describe.each<Kind>(["posts", "comments"])("an agent's %s", (kind) => {
  it("are its own alone, newest first, and the same in pages of every size", async () => {
    const agent = await service.register();
    expect(await pages(agent.name, kind, 10)).toEqual([[]]);
    const expected = await write(agent, kind, [3, 1, 2, 5, 5, 5, 4]);
    const { body } = await service.rest(`${kind}/${expected[0]}`);
    expect((await pages(agent.name, kind, 1))[0]).toEqual([kind === "posts" ? body.post : body.comment]);
    for (const limit of [1, 3, 7]) {
      const listed = await pages(agent.name, kind, limit);
      expect(listed.flat().map(({ id }) => id)).toEqual(expected);
      for (const page of listed.slice(0, -1)) expect(page).toHaveLength(limit);
      for (const each of listed.flat()) expect(each.author.name).toBe(agent.name);
    }
  });

  it("leave out what is removed, and have it again after a restore", async () => {
    const agent = await service.register();
    const [newest, second, oldest] = (await write(agent, kind, [1, 2, 3])) as [number, number, number];
    const target = kind === "posts" ? { postId: BigInt(second) } : { commentId: BigInt(second) };
    await service.operator.remove({ ...target, reason: spam, keepForDays: 1n });
    expect((await pages(agent.name, kind, 1)).flat().map(({ id }) => id)).toEqual([newest, oldest]);
    await service.operator.restore(target);
    expect((await pages(agent.name, kind, 2)).flat().map(({ id }) => id)).toEqual([newest, second, oldest]);
  });

  it("are not shifted by what is written meanwhile", async () => {
    const agent = await service.register();
    const expected = await write(agent, kind, [1, 2, 3, 4]);
    const first = (await service.rest(`agents/${agent.name}/${kind}?limit=2`)).body;
    await write(agent, kind, [5]);
    const second = (await service.rest(`agents/${agent.name}/${kind}?limit=2&cursor=${first.next_cursor}`)).body;
    expect([...first[kind], ...second[kind]].map(({ id }: Item) => id)).toEqual(expected);
  });

  it("are not found for an erased agent", async () => {
    const agent = await service.register();
    await write(agent, kind, [1]);
    await service.operator.eraseAgent({ name: agent.name, reason: spam });
    for (const name of ["[removed]", agent.name]) {
      const { status, body } = await service.rest(`agents/${name}/${kind}`);
      expect(status, name).toBe(404);
      expect(body).toEqual({ ok: false, error: "not_found", message: "There is no agent with this name." });
    }
  });

  it("have cursors of their own", async () => {
    const agent = await service.register();
    await write(agent, kind, [1, 2]);
    const { next_cursor } = (await service.rest(`agents/${agent.name}/${kind}?limit=1`)).body;
    const otherKind = kind === "posts" ? "comments" : "posts";
    const forged = [["agent posts"], ["agent posts", 1, "x", 1], ["agent comments", 1, null]].map((values) =>
      Buffer.from(JSON.stringify(values)).toString("base64url"),
    );
    for (const path of [
      `agents/${agent.name}/${otherKind}?cursor=${next_cursor}`,
      `agents/${other.name}/${kind}?cursor=${next_cursor}`,
      `feed?sort=new&cursor=${next_cursor}`,
      ...forged.map((cursor) => `agents/${agent.name}/${kind}?cursor=${cursor}`),
    ]) {
      expect(await service.rest(path), path).toMatchObject({
        status: 400,
        body: { error: "bad_input", field: "cursor" },
      });
    }
  });
});

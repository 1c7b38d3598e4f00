import { describe, expect, it } from "vitest";
import { recount } from "../support/recount.ts";
import { startService } from "../support/service.ts";

let now = Date.UTC(2026, 3, 5);

const service = await startService({ overrides: { now: () => now } });
const agent = await service.register("Epictetus_1-A");

const post = async (title: string, key = agent.key) =>
  (await service.rest("posts", { key, body: { title } })).body.post as { id: number };

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
    const other = await service.register();
    expect((await service.rest(`agents/${agent.name}`)).body.recent_posts).toEqual([]);
    const posts: { id: number; at: number }[] = [];
    for (const minute of [3, 1, 2, 5, 5, 5, 4, 9, 8, 7, 6, 3, 3]) {
      now = Date.UTC(2026, 3, 6, 0, minute);
      posts.push({ id: (await post(`Post ${minute}`)).id, at: now });
      await post("Of another", other.key);
    }
    const { agent: profile, recent_posts } = (await service.rest(`agents/${agent.name}`)).body;
    expect(profile.posts).toBe(13);
    const expected = posts.toSorted((a, b) => b.at - a.at || b.id - a.id).slice(0, 10);
    expect(recent_posts.map(({ id }: { id: number }) => id)).toEqual(expected.map(({ id }) => id));
    for (const { author } of recent_posts) expect(author.name).toBe(agent.name);
  });

  it("is found by its name in any case, and by no other, and shows the name as it was registered", async () => {
    for (const name of ["Epictetus_1-A", "EPICTETUS_1-A", "ePiCtEtUs_1-a", "%45pictetus_1-A"]) {
      expect((await service.rest(`agents/${name}`)).body.agent.name).toBe("Epictetus_1-A");
    }
    // Letters that some collations of databases take for the same, and white space that they ignore.
    for (const name of ["Epictetus_1-%C3%81", "%EF%BC%A5pictetus_1-A", "Epictetus_1-A%20", "Epictetus_1-A%00"]) {
      const { status, body } = await service.rest(`agents/${name}`);
      expect(status, name).toBe(404);
      expect(body).toEqual({ ok: false, error: "not_found", message: "There is no agent with this name." });
    }
  });
});

import { describe, expect, it } from "vitest";
import { startService } from "../support/service.ts";

const service = await startService();
await service.register("Founder");
const rows = Array.from({ length: 2_100 }, (_, i) => [
  `c${i}-${(i * 7919) % 2_100}`,
  `Community ${i}`,
  "",
  1,
  Date.now(),
]);
await service.db.pool.query("INSERT INTO communities (name, title, description, created_by, created_at) VALUES ?", [
  rows,
]);
const names = [...rows.map(([name]) => name as string), "general"].toSorted();

async function pages(): Promise<{ name: string; created_by: string | null }[][]> {
  const all = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const { status, body } = await service.rest(`communities${cursor ? `?cursor=${cursor}` : ""}`);
    expect(status).toBe(200);
    all.push(body.communities);
    cursor = body.next_cursor;
  }
  return all;
}

describe("the list of communities", () => {
  it("is ordered by name, has pages of 1,000, and shows each community once", async () => {
    const got = await pages();
    expect(got.map(({ length }) => length)).toEqual([1000, 1000, 101]);
    expect(got.flat().map(({ name }) => name)).toEqual(names);
    expect(got.flat().filter(({ created_by }) => created_by === "Founder")).toHaveLength(2_100);
  });

  it("ends without a cursor when the last page is full", async () => {
    const { db } = service;
    await db.pool.query("DELETE FROM communities WHERE name > 'c1' AND name <> 'general' ORDER BY name DESC LIMIT 101");
    expect((await pages()).map(({ length }) => length)).toEqual([1000, 1000]);
  });

  it("ends at a limit, and ignores an offset", async () => {
    const { communities, warnings } = (await service.rest("communities?limit=2&offset=5")).body;
    const first = (await service.rest("communities")).body.communities.slice(0, 2);
    expect([communities, warnings.length]).toEqual([first, 1]);
  });

  it("refuses a cursor of something else", async () => {
    for (const values of [
      ["communities", "NOT A NAME"],
      ["communities", 5],
      ["communities", "general", 1],
    ]) {
      const cursor = Buffer.from(JSON.stringify(values)).toString("base64url");
      const { status, body } = await service.rest(`communities?cursor=${cursor}`);
      expect([status, body.error, body.field]).toEqual([400, "bad_input", "cursor"]);
    }
  });
});

import { expect, it } from "vitest";
import { Board } from "../../../src/board/board.ts";
import { type CommunityChange, updateCommunity } from "../../../src/board/moderation/communities.ts";
import { createDatabaseWithSchema, openStore } from "../../support/database.ts";

const nothing: CommunityChange = { title: undefined, description: undefined, appoint: [], dismiss: [] };

const test = await createDatabaseWithSchema();
await test.pool.query("INSERT INTO agents (name, name_key, bio, key_hash, created_at) VALUES ?", [
  ["mod", "other"].map((name) => [name, name, "", Buffer.from(name.padStart(32)), Date.now()]),
]);
const board = new Board(openStore(test, 4), Date.now);

/** Changes a community. @returns whether the unit of work says that it has changed nothing */
async function leavesUnchanged(change: Partial<CommunityChange>): Promise<boolean> {
  return board.write(new AbortController().signal, async (unit) => {
    await updateCommunity(unit, "general", { ...nothing, ...change });
    return unit.unchanged === true;
  });
}

it("an update of a community counts as unchanged only if nothing of it has changed", async () => {
  expect(await leavesUnchanged({ appoint: ["mod"] })).toBe(false);
  expect(await leavesUnchanged({ appoint: ["mod"] })).toBe(true);
  expect(await leavesUnchanged({ title: "Another title", appoint: ["mod"] })).toBe(false);
  expect(await leavesUnchanged({ appoint: ["other", "mod"] })).toBe(false);
  expect(await leavesUnchanged({ appoint: ["mod"], dismiss: ["other"] })).toBe(false);
  expect(await leavesUnchanged({})).toBe(true);
});

// The commands of docs/verifying.md that recompute what daily receipts seal of the record of moderation.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { createOperatorClient, createStoaClient } from "../../src/client/index.ts";
import { operatorToken, startLedger, TestClock } from "../ledger/support.ts";
import { blocksIn, readPage } from "./pages.ts";

const clock = new TestClock("2026-03-01T12:00:00.000Z");
const reason = "spam";

/** Runs the commands, and returns what they print. */
async function recompute(): Promise<string[]> {
  const [script = ""] = blocksIn(readPage("docs/verifying.md"), "sh").filter((block) => block.includes("moderations"));
  const command = script.replaceAll("http://127.0.0.1:8080", service.url);
  const { stdout } = await promisify(execFile)("bash", ["--norc", "-euo", "pipefail", "-c", command]);
  return stdout.split("\n").filter((line) => line !== "");
}

/** Ends a day. The service may have sealed it by itself. */
async function endDay(date: string, next: string): Promise<void> {
  clock.set(next);
  await service.sealDaily(date).catch((error: unknown) => {
    if (!String(error).includes("already_exists")) throw error;
  });
}

const service = await startLedger({ clock });
const { key, name } = await service.register();
const stoa = createStoaClient(service.url, { apiKey: key });
const { moderation } = createOperatorClient(service.url, { operatorToken });
const post = async (title: string) => (await stoa.posts.createPost({ title })).post?.id as number;
// Within a day: the registration would lapse before the key is used.
await endDay("2026-03-01", "2026-03-02T11:00:00.000Z");
const first = await post("First");
await moderation.remove({ postId: first, reason, keepForDays: 3 });
await moderation.restore({ postId: first });
await endDay("2026-03-02", "2026-03-03T12:00:00.000Z");
await moderation.lock({ postId: first });
await moderation.suspendAgent({ name, reason, note: "not in the record" });
await moderation.removeAgentContent({ name, reason });
await endDay("2026-03-03", "2026-03-04T12:00:00.000Z");
// Not sealed yet.
await moderation.unsuspendAgent({ name });

it("confirm what was sealed, day by day", async () => {
  expect(await recompute()).toEqual([
    "2026-03-01: 0 acts, as sealed",
    "2026-03-02: 2 acts, as sealed",
    "2026-03-03: 3 acts, as sealed",
  ]);
});

it("find an act that was changed later", async () => {
  const { pool } = service.db;
  await pool.query("DROP TRIGGER moderations_are_not_updated");
  await pool.query("UPDATE moderations SET reason = 'other' WHERE id = 4");
  expect((await recompute()).at(-1)).toBe("2026-03-03: not what was sealed");
});

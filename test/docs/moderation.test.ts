// The commands of docs/moderation.md, run by a shell on a board that an agent floods.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { operatorToken, startLedger } from "../ledger/support.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { Sections } from "./sections.ts";

const page = new Sections("docs/moderation.md");

/** Runs the commands of a section, on the log as it is now. */
async function run(heading: string): Promise<void> {
  const folder = scratchFolder();
  const journal = join(folder, "journal");
  writeFileSync(journal, service.log.map((line) => JSON.stringify(line)).join("\n"));
  const places = [
    ["http://127.0.0.1:8080", service.url],
    ["journalctl -u stoa -o cat", `cat ${journal}`],
  ] as const;
  await page.run(heading, places, { STOA_OPERATOR_TOKEN: operatorToken });
}

const service = await startLedger();
const { key: reporter } = await service.register("Kleanthes");
const { key: spammer } = await service.register("Hawker");
const title = "Cheap porches, only today";
for (let n = 0; n < 3; n++) await service.rest("posts", { key: spammer, body: { title } });
await service.rest("posts/1/comments", { key: spammer, body: { body: title } });
await service.rest("agents/me", { key: spammer });
await service.rest("posts/1/report", { key: reporter, body: { reason: "spam", note: "In every thread." } });

it("the commands lead from a complaint to the public record", async () => {
  await run("Moderation");
  await run("From a complaint to the public record");
  const { body } = await service.rest("moderations?item=agent&item_id=2");
  expect(body.moderations).toMatchObject([{ act: "suspend", reason: "spam", role: "operator" }]);
  expect((await service.rest("posts/3")).body.post.removed).toMatchObject({ by: "operator", reason: "spam" });
  page.expectAllRun();
});

// Tables with one row: what calls answer while the row is damaged or missing, and what fsck finds.
import { expect, it } from "vitest";
import { fsck, keepsServing, seal, useOneRowTables, withDamage } from "./one-row.ts";
import { refusal } from "./support.ts";

useOneRowTables();

it.each(["hash = REPEAT('1', 64)", "seq = seq + 1000", "seq = seq - 1"])(
  "no receipt follows a wrong head: %s",
  async (change) => {
    await withDamage("ledger_head", `UPDATE ledger_head SET ${change}`, async () => {
      expect(await refusal(seal())).toEqual({ code: "Unavailable", error: "unavailable" });
    });
    await seal();
  },
);

keepsServing((table) => table < "log_i");

it.each(["ledger_head", "ledger_epoch", "moderation_head"])("a missing row of %s is found", async (table) => {
  await withDamage(table, `DELETE FROM ${table}`, async () => {
    expect(await fsck()).toEqual(expect.arrayContaining([expect.stringMatching(`^${table}.*: the row is missing`)]));
  });
});

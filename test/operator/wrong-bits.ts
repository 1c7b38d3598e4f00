// What docs/fsck-columns.md promises, tried with wrong bits.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { randomNumbers } from "../support/posts.ts";
import { fsck, readColumns, seed, withWrongBit } from "./every-column.ts";

const page = readFileSync(new URL("../../docs/fsck-columns.md", import.meta.url), "utf8");
/** What the page says of each column. */
export const listed = new Map(
  [...page.matchAll(/^\| `(\w+\.\w+)` \| (.+) \|$/gm)].map(([, column, how]) => [column as string, how as string]),
);
const isChecked = (how: string) => !/^(?:not checked|in part|computed):/.test(how);
const tables = new Set([...listed.keys()].map((column) => column.slice(0, column.indexOf("."))));

/** Tests that a wrong bit in each column that is checked is found. */
export function findsWrongBits(isMeant: (table: string) => boolean): void {
  it.each([...tables].filter(isMeant))("a wrong bit in a column of %s that is checked is found", async (table) => {
    const columns = await readColumns();
    const random = randomNumbers(seed);
    const missed: string[] = [];
    for (const column of columns.filter((each) => each.table === table)) {
      const name = `${column.table}.${column.name}`;
      if (!isChecked(listed.get(name) as string)) continue;
      const isChanged = await withWrongBit(column, columns, random, async () => {
        const { status, out } = await fsck();
        // With exit status 2 or 3, fsck says that the database is not one that it can check.
        if (out.length === 0 && status < 2) missed.push(name);
      });
      if (!isChanged) missed.push(`${name} has no value`);
    }
    expect({ seed, missed }).toEqual({ seed, missed: [] });
    expect((await fsck()).out).toEqual([]);
  });
}

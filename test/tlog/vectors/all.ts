import { invalidEntries, validEntries } from "./entries.ts";
import { invalidItems } from "./invalid-items.ts";
import { validItems } from "./items.ts";
import { invalidNotes, validNotes } from "./notes.ts";
import { invalidTiles, validTiles } from "./tiles.ts";
import { invalidTrees, validTrees } from "./trees.ts";

/** The text of every file in test/vectors/log/ by its path there. */
export async function logVectorFiles(): Promise<Map<string, string>> {
  const valid = [await validTrees(), await validTiles(), await validNotes(), validEntries(), await validItems()];
  const invalid = [
    await invalidTrees(),
    await invalidTiles(),
    await invalidNotes(),
    await invalidEntries(),
    await invalidItems(),
  ];
  const files = new Map<string, string>();
  for (const [kind, sets] of Object.entries({ valid, invalid })) {
    for (const [name, vector] of sets.flatMap((set) => Object.entries(set))) {
      const path = `${kind}/${name}.json`;
      if (files.has(path)) throw new Error(`there are two vectors ${path}`);
      files.set(path, `${JSON.stringify(vector, undefined, 2)}\n`);
    }
  }
  return files;
}

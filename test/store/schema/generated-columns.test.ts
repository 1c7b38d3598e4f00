import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { generatedColumns } from "../../../src/store/schema/generated-columns.ts";

it("generatedColumns() returns the definition of every computed column of the schema", async () => {
  const schema = readFileSync(new URL("../../../src/store/schema/schema.txt", import.meta.url), "utf8");
  const generated = schema.split("\n\n").flatMap((block) => {
    const [table, ...lines] = block.trim().split("\n");
    return lines.filter((line) => line.endsWith(" generated")).map((line) => `${table}.${line.trim().split(" ")[0]}`);
  });
  const found = await generatedColumns();
  expect([...found.keys()]).toEqual(generated);
  expect(found.get("posts.score")).toBe(
    "ALTER TABLE posts MODIFY score BIGINT GENERATED ALWAYS AS (upvotes - downvotes) STORED",
  );
});

// The tables of error codes and rate limits in docs/api.md against the texts in the code.
import { expect, it } from "vitest";
import { limitTable } from "../../src/api-docs/guide/limits.ts";
import { errorTable } from "../../src/api-docs/guide/tables.ts";
import { limitTexts } from "../../src/rate-limits/limit-texts.ts";
import { createPolicies } from "../../src/rate-limits/policy.ts";
import { defaultQuotas, limitNames } from "../../src/rate-limits/quota.ts";
import { readPage } from "./pages.ts";

const page = readPage("docs/api.md");

/** The lines of the table whose first row begins like this. */
function tableOf(head: string): string[] {
  const lines = page.split("\n");
  const start = lines.findIndex((line) => line.startsWith(head));
  const end = lines.findIndex((line, index) => index > start && !line.startsWith("|"));
  return lines.slice(start, end);
}

it("docs/api.md has the guide's table of error codes", () => {
  expect(tableOf("| status | code |").join("\n")).toBe(errorTable());
  expect(errorTable()).toMatch(/^\| 431 \| `bad_input` \|/m);
});

it("docs/api.md has the guide's table of rate limits with the default quotas, and which replicas count together", () => {
  const [head, line, ...rows] = limitTable(createPolicies(defaultQuotas)).split("\n");
  expect(tableOf("| limit |")).toEqual([
    `${head} replicas count |`,
    `${line} --- |`,
    ...rows.map((row, index) => `${row} ${limitTexts[limitNames[index] as keyof typeof limitTexts].replicas} |`),
  ]);
});

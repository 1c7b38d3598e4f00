// The tables of docs/api.md against the contract and the texts in the code.
import { expect, it } from "vitest";
import { Access } from "../../gen/stoa/v1/options_pb.js";
import { contractServices } from "../../scripts/lib/contract.ts";
import { limitTable } from "../../src/api-docs/guide/limits.ts";
import { errorTable } from "../../src/api-docs/guide/tables.ts";
import { bindingsOf } from "../../src/contract/bindings.ts";
import { rulesOf } from "../../src/contract/rules.ts";
import { limitTexts } from "../../src/rate-limits/limit-texts.ts";
import { createPolicies } from "../../src/rate-limits/policy.ts";
import { defaultQuotas, limitNames } from "../../src/rate-limits/quota.ts";
import { readPage } from "./pages.ts";

const page = readPage("docs/api.md");

/** The lines of the table whose head begins like this. */
function tableOf(head: string): string[] {
  const lines = page.slice(page.indexOf(`\n${head}`) + 1).split("\n");
  return lines.slice(
    0,
    lines.findIndex((line) => !line.startsWith("|")),
  );
}

it("the table of calls has every REST call, with who may call it", async () => {
  const documented = tableOf("| call").flatMap((line) => {
    const [, calls = "", who = ""] = line.split(/(?<!\\)\|/);
    return [...calls.matchAll(/`([A-Z]+ \S+)`/g)].map(([, call]) => `${call} ${who.trim()}`);
  });
  const who: Partial<Record<Access, string>> = { [Access.PUBLIC]: "anybody", [Access.AGENT]: "agent" };
  const bindings = (await contractServices()).flatMap(bindingsOf);
  const contract = bindings.map(
    ({ httpMethod, template, rpc }) => `${httpMethod} ${template.replace("/api/v1", "")} ${who[rulesOf(rpc).access]}`,
  );
  expect(documented.sort()).toEqual(contract.sort());
});

it("the table of error codes is the guide's", () => {
  expect(tableOf("| status | code |").join("\n")).toBe(errorTable());
});

it("the table of rate limits is the guide's with the default quotas, and says which replicas count together", () => {
  const [head, line, ...rows] = limitTable(createPolicies(defaultQuotas)).split("\n");
  expect(tableOf("| limit |")).toEqual([
    `${head} replicas count |`,
    `${line} --- |`,
    ...rows.map((row, index) => `${row} ${limitTexts[limitNames[index] as keyof typeof limitTexts].replicas} |`),
  ]);
});

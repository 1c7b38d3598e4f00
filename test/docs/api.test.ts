// The table of calls in docs/api.md against the contract.
import { expect, it } from "vitest";
import { Access } from "../../gen/stoa/v1/options_pb.js";
import { contractServices } from "../../scripts/lib/contract.ts";
import { bindingsOf } from "../../src/contract/bindings.ts";
import { rulesOf } from "../../src/contract/rules.ts";
import { readPage } from "./pages.ts";

const page = readPage("docs/api.md");

/** The rows of the table in the section under a heading, as cells. */
function rowsUnder(heading: string): string[][] {
  const [, section = ""] = new RegExp(`^#+ ${heading}\n(.*?)(?=^#)`, "ms").exec(page) ?? [];
  const lines = section.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| ---"));
  return lines.slice(1).map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

it("the table of calls has every REST call, with who may call it", async () => {
  const documented = rowsUnder("The calls").flatMap(([calls = "", who]) =>
    [...calls.matchAll(/`([A-Z]+ \S+)`/g)].map(([, call]) => `${call} ${who}`),
  );
  const who: Partial<Record<Access, string>> = { [Access.PUBLIC]: "anybody", [Access.AGENT]: "agent" };
  const bindings = (await contractServices()).flatMap(bindingsOf);
  const contract = bindings.map(
    ({ httpMethod, template, rpc }) => `${httpMethod} ${template.replace("/api/v1", "")} ${who[rulesOf(rpc).access]}`,
  );
  expect(documented.sort()).toEqual(contract.sort());
});

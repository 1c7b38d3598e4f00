import { getOption } from "@bufbuild/protobuf";
import { beforeAll, describe, expect, it } from "vitest";
import { Access, idempotent_by_key } from "../../../gen/stoa/v1/options_pb.js";
import { contractServices } from "../../../scripts/lib/contract.ts";
import { writeGuide } from "../../../src/api-docs/guide/guide.ts";
import { type Binding, bindingsOf } from "../../../src/contract/bindings.ts";
import { rulesOf } from "../../../src/contract/rules.ts";
import { errorStatus } from "../../../src/errors.ts";
import { createNewAgentPolicies, parseNewAgentQuotas } from "../../../src/rate-limits/new-agents.ts";
import { createPolicies } from "../../../src/rate-limits/policy.ts";
import { defaultQuotas } from "../../../src/rate-limits/quota.ts";
import { startLogService } from "../../log/support.ts";
import { type Service, startService } from "../../support/service.ts";

const services = await contractServices();
const example = "https://stoa.example/board";

describe("the served guide", () => {
  let service: Service;
  beforeAll(async () => {
    service = await startLogService();
  });

  it.each([
    ["skill.md", "text/markdown; charset=utf-8"],
    ["llms.txt", "text/plain; charset=utf-8"],
  ])("%s is %s, may be cached for a while, and answers 304 if it has not changed", async (name, type) => {
    const address = `${service.url}/${name}`;
    const { headers } = await fetch(address);
    expect([headers.get("content-type"), headers.get("cache-control")]).toEqual([type, "public, max-age=10"]);
    const tag = headers.get("etag") ?? "";
    expect((await fetch(address, { headers: { "if-none-match": tag } })).status).toBe(304);
    expect((await fetch(address, { headers: { "if-none-match": 'W/"other"' } })).status).toBe(200);
  });

  it("every complete address in it answers", async () => {
    const texts = await Promise.all(
      ["skill.md", "llms.txt"].map(async (name) => (await fetch(`${service.url}/${name}`)).text()),
    );
    // Addresses in backticks and after an equals sign are prefixes, or are not for GET. A shell completes those with a dollar sign, and a reader those with braces.
    const addresses =
      texts
        .join("\n")
        .match(/(?<![`=])https?:\/\/[^\s)'"`>]+/g)
        ?.map((each) => each.replace(/[.,:]+$/, "")) ?? [];
    const complete = new Set(addresses.filter((each) => !/[${]/.test(each)));
    expect(complete.size).toBeGreaterThan(8);
    for (const address of complete) {
      expect(address.startsWith(service.url), address).toBe(true);
      const { status } = await fetch(address);
      const needsPost = /\/(?:register|me|key)$/.test(address);
      expect([address, needsPost ? 200 : status]).toEqual([address, 200]);
    }
  });

  it("holds the configured address and limits", async () => {
    const rateLimits = { ...defaultQuotas, votes: { calls: 3, windowSeconds: 60 } };
    const behind = await startService({ config: { siteUrl: example, rateLimits } });
    expect(await (await fetch(`${behind.url}/skill.md`)).text()).toContain("| votes, per agent | 3 | 1 minute |");
    for (const name of ["skill.md", "llms.txt"]) {
      const text = await (await fetch(`${behind.url}/${name}`)).text();
      expect(text).toContain(`${example}/api/v1`);
      expect(text).not.toContain("127.0.0.1");
    }
  });
});

describe("the guide's text", () => {
  const skill = writeGuide("skill.md", services, example);
  const rows = skill.split("\n").filter((line) => line.startsWith("| `"));

  const bindings = services.flatMap(bindingsOf);

  /** The row of a call. Its first cell has the method and one or more paths. */
  function rowOf(httpMethod: string, template: string): string {
    const whole = template.replace("=**", "");
    const path = whole.startsWith("/api/v1/") ? whole.slice("/api/v1".length) : example + whole;
    const found = rows.filter((row) => {
      const [, cell = ""] = row.split(" | ", 1)[0]?.split("| ") ?? [];
      return cell.startsWith(`\`${httpMethod} `) && cell.replace(`${httpMethod} `, "").includes(`\`${path}\``);
    });
    expect([template, found.length]).toEqual([template, 1]);
    return found[0] ?? "";
  }

  // It is made of the contract: one row shows how it says the rules of an input, in the row or once for all calls.
  it("has every call with every input", () => {
    for (const { rpc, httpMethod, template } of bindings) {
      const text = rowOf(httpMethod, template).replace(/\{(\w+)\}/g, "`$1`");
      for (const { name } of rpc.input.fields) expect(text).toContain(`\`${name}\``);
    }
    expect(rowOf("POST", "/api/v1/communities")).toContain(
      "`title` 3 to 60 characters; `description`? at most 500 characters | Founds a community. → 201 |",
    );
    expect(skill).toContain("\n- `limit`: 1 to 100, default 25\n");
  });

  it("says which calls need the API key", () => {
    for (const { rpc, httpMethod, template } of bindings) {
      const [, mark] =
        /\((no key|key)\) \|/.exec(rowOf(httpMethod, template).replace(/\| [^|]*\| [^|]*\|$/, "|")) ?? [];
      const needsKey = mark === undefined ? httpMethod !== "GET" : mark === "key";
      expect([template, needsKey]).toEqual([template, rulesOf(rpc).access === Access.AGENT]);
    }
  });

  it("has every error code with its status", () => {
    for (const [code, status] of Object.entries(errorStatus)) {
      expect(skill).toMatch(new RegExp(`^\\| ${status} \\| \`${code}\` \\| \\w`, "m"));
    }
  });

  it("marks the calls that take an Idempotency-Key, and no others", () => {
    const isMarked = ({ httpMethod, template }: Binding) => /^\| [^|]*` \*/.test(rowOf(httpMethod, template));
    const keyed = bindings.filter(({ rpc }) => getOption(rpc, idempotent_by_key));
    expect(keyed.length).toBeGreaterThan(3);
    expect(bindings.filter(isMarked)).toEqual(keyed);
  });

  it("has the smaller limits of new agents, if there are any", () => {
    const policies = createPolicies(defaultQuotas);
    const newAgentPolicies = createNewAgentPolicies(defaultQuotas, parseNewAgentQuotas("posts=5/1h,votes=1000000/1s"));
    const text = writeGuide("skill.md", services, example, { policies, newAgentPolicies });
    expect(text).toContain("In the first 24 hours after its registration, an agent has smaller limits:");
    expect(text).toContain("| `posts` | 5 | 1 hour |\n\n## Errors");
    expect(writeGuide("skill.md", services, example, { policies })).not.toContain("24 hours after its registration");
  });

  it("has every rate limit with its configured quota", () => {
    const policies = createPolicies({ ...defaultQuotas, posts: { calls: 7, windowSeconds: 5400 } });
    const text = writeGuide("skill.md", services, example, { policies });
    expect(text).toContain("| `posts` | new posts, per agent | 7 | 90 minutes |");
    expect(text).toContain('`RateLimit: "posts";r=6;t=772`');
    for (const [name, { calls }] of Object.entries(defaultQuotas).slice(1)) {
      const row = text.split("\n").find((line) => line.startsWith(`| \`${name}\` |`));
      expect(row?.replaceAll(",", ""), name).toMatch(new RegExp(` ${calls} \\| (?:1|10) (?:minutes?|hour|day) \\|$`));
    }
    expect(skill).toContain("This server has no rate limits.");
    expect(skill).not.toContain("RateLimit:");
  });
});

it.each([
  ["http://stoa.example", "stoa.example_80"],
  ["https://stoa.example/a/b", "stoa.example_443%2Fa%2Fb"],
  ["http://[::1]:8080", "%5B%3A%3A1%5D_8080"],
])("the key of the server at %s has its own file", (siteUrl, name) => {
  expect(writeGuide("skill.md", services, siteUrl)).toContain(`/stoa/${name}.key"`);
});

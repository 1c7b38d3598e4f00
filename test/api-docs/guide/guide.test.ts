import { type DescService, getOption } from "@bufbuild/protobuf";
import { beforeAll, describe, expect, it } from "vitest";
import { field as fieldRules } from "../../../gen/buf/validate/validate_pb.js";
import { AgentService } from "../../../gen/stoa/v1/agent_service_pb.js";
import { CommentService } from "../../../gen/stoa/v1/comment_service_pb.js";
import { CommunityService } from "../../../gen/stoa/v1/community_service_pb.js";
import { InboxService } from "../../../gen/stoa/v1/inbox_service_pb.js";
import { LedgerService } from "../../../gen/stoa/v1/ledger_service_pb.js";
import { ModerationRecordService } from "../../../gen/stoa/v1/moderation_record_service_pb.js";
import { Access, allowed, idempotent_by_key } from "../../../gen/stoa/v1/options_pb.js";
import { PostService } from "../../../gen/stoa/v1/post_service_pb.js";
import { SearchService } from "../../../gen/stoa/v1/search_service_pb.js";
import { writeGuide } from "../../../src/api-docs/guide/guide.ts";
import { type Binding, bindingsOf } from "../../../src/contract/bindings.ts";
import { rulesOf } from "../../../src/contract/rules.ts";
import { errorStatus } from "../../../src/errors.ts";
import { createNewAgentPolicies, parseNewAgentQuotas } from "../../../src/rate-limits/new-agents.ts";
import { createPolicies } from "../../../src/rate-limits/policy.ts";
import { defaultQuotas } from "../../../src/rate-limits/quota.ts";
import { startLogService } from "../../log/support.ts";
import { type Service, startService } from "../../support/service.ts";

const services: DescService[] = [
  AgentService,
  CommunityService,
  PostService,
  CommentService,
  InboxService,
  LedgerService,
  ModerationRecordService,
  SearchService,
];
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
    const { status, headers } = await fetch(address);
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe(type);
    expect(headers.get("cache-control")).toBe("public, max-age=10");
    const tag = headers.get("etag") ?? "";
    expect(tag).toMatch(/^"[\w-]+"$/);
    expect((await fetch(address, { headers: { "if-none-match": tag } })).status).toBe(304);
    expect((await fetch(address, { headers: { "if-none-match": 'W/"other"' } })).status).toBe(200);
    expect((await fetch(address, { method: "HEAD" })).status).toBe(200);
    expect((await fetch(address, { method: "POST" })).status).toBe(404);
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

  const bindings = services.flatMap((service) => bindingsOf(service));

  /** The row of a call. Its first cell has the method and one or more paths. */
  function rowOf(httpMethod: string, template: string): string {
    const path = template.startsWith("/api/v1/") ? template.slice("/api/v1".length) : example + template;
    const found = rows.filter((row) => {
      const [, cell = ""] = row.split(" | ", 1)[0]?.split("| ") ?? [];
      return cell.startsWith(`\`${httpMethod} `) && cell.replace(`${httpMethod} `, "").includes(`\`${path}\``);
    });
    expect([template, found.length]).toEqual([template, 1]);
    return found[0] ?? "";
  }

  it("has every call with every input and its bounds", () => {
    for (const { rpc, httpMethod, template } of bindings) {
      const row = rowOf(httpMethod, template);
      for (const field of rpc.input.fields) {
        const { type, required } = getOption(field, fieldRules);
        if (template.includes(`{${field.name}}`) && !row.includes(`\`${field.name}\``)) {
          // The text above the table has the rule for all numbers in paths.
          if (type.case === "int64") expect(Number(type.value.greaterThan.value)).toBe(1);
          else expect(type.case).toBeUndefined();
          expect(skill).toContain("Numbers in paths are at least 1.");
          continue;
        }
        const [, inRow] = new RegExp(`\`${field.name}\`(?<rest>[^;]*?)(?:;| \\| )`).exec(row) ?? [];
        expect(inRow, `${field.name} in ${row}`).toBeDefined();
        if (required) expect(inRow).not.toMatch(/^\?/);
        // A row without a rule has the one of the list above the table.
        const [, inList] = new RegExp(`^- \`${field.name}\`:(.*)$`, "m").exec(skill) ?? [];
        const input = /^\??$/.test(inRow ?? "") ? `${inList ?? ""} ` : inRow;
        const numbers = (input ?? "").replaceAll(",", "");
        if (type.case === "string") {
          for (const length of [type.value.minLen, type.value.maxLen])
            if (length > 0n) expect(numbers).toContain(` ${length} `);
          expect(input).toContain(getOption(field, allowed));
        }
        if (type.case === "int64" && type.value.greaterThan.case === "gte") {
          expect(numbers).toContain(` ${type.value.greaterThan.value}`);
        }
        if (type.case === "int64" && type.value.lessThan.value !== BigInt(Number.MAX_SAFE_INTEGER)) {
          if (type.value.lessThan.case === "lte") expect(numbers).toContain(` to ${type.value.lessThan.value}`);
        }
        if (type.case === "int32")
          for (const value of type.value.in) expect(numbers).toMatch(new RegExp(` ${value}\\b`));
        if (field.fieldKind === "enum") expect(input).toMatch(/`\w+`(?:, `\w+`)* or `\w+`/);
      }
    }
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
  ["http://127.0.0.1:8080", "127.0.0.1_8080"],
  ["https://stoa.example", "stoa.example_443"],
  ["http://stoa.example", "stoa.example_80"],
  ["https://stoa.example/board", "stoa.example_443%2Fboard"],
  ["https://stoa.example/a/b", "stoa.example_443%2Fa%2Fb"],
  ["http://[::1]:8080", "%5B%3A%3A1%5D_8080"],
])("the key of the server at %s has its own file", (siteUrl, name) => {
  expect(writeGuide("skill.md", services, siteUrl)).toContain(`/stoa/${name}.key"`);
});

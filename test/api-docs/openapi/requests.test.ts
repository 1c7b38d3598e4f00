import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Schema } from "../../../src/api-docs/openapi/schema.ts";
import { anyCharacter } from "../../support/any-character.ts";
import { description, faultOfRequest, type Operation } from "../../support/openapi/schemas.ts";
import { type Reply, startService } from "../../support/service.ts";

/*
 * The description and the service agree on what a request may be: what one takes the other takes. Requests are made of the
 * description: most members as their schemas have them, some just beside. They are the same in every run.
 */
const seed = 1;

const service = await startService();
const { key } = await service.register();
await service.rest("posts", { key, body: { title: "The first" } });

const operations = Object.entries(description.paths).flatMap(([path, byMethod]) =>
  Object.entries(byMethod).map(([method, operation]) => ({ method, path, operation })),
);

/** A schema with resolved references. */
function resolve(schema: Schema): Schema {
  const { $ref, ...rest } = schema;
  if (typeof $ref !== "string") return schema;
  return { ...description.components.schemas[$ref.split("/").at(-1) as string], ...rest };
}

const text = fc.oneof(fc.string({ unit: anyCharacter }), fc.string({ unit: "grapheme" }), fc.string({ maxLength: 3 }));
const anything = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1, 1, 2, 1.5, 2 ** 53, -(2 ** 53), "", "1", "hot", "general", [], {}, [1]),
  text,
  fc.maxSafeInteger(),
);

/** Where the patterns of texts for readers end: characters that show nothing, and controls. */
const borders = fc.constantFrom("\t\n\ra", " \n", "\u2800", "\u200b", "a\u0000", "a\u0085", "\u200ba\u2800");

/** Texts that match a pattern, and for texts for readers some that may not. */
function textMatching(pattern: string): fc.Arbitrary<string> {
  const regexp = new RegExp(pattern, "u");
  // What fast-check makes of a property of Unicode takes seconds to make. Most texts have it.
  if (!/\\p/i.test(pattern)) return fc.stringMatching(regexp, { size: "small" });
  return fc.oneof({ weight: 4, arbitrary: text.filter((each) => regexp.test(each)) }, borders);
}

/** Valid and invalid values for a schema. */
function around(schema: Schema): fc.Arbitrary<unknown> {
  const {
    minLength = 0,
    maxLength = 40,
    minimum = 0,
    maximum = 100,
    pattern,
  } = resolve(schema) as Record<string, never>;
  const { enum: values } = resolve(schema) as { enum?: unknown[] };
  if (values !== undefined) return fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...values) }, anything);
  const lengths = [minLength - 1, minLength, minLength + 1, maxLength, maxLength + 1].filter((length) => length >= 0);
  const long = fc
    .constantFrom("a", "😀", "ä", "\u0000")
    .chain((each) => fc.constantFrom(...lengths).map((n) => each.repeat(n)));
  const fitting = pattern === undefined ? text : textMatching(pattern);
  const numbers = fc.constantFrom(minimum - 1, minimum, minimum + 1, maximum - 1, maximum, maximum + 1);
  const type = JSON.stringify(resolve(schema).type ?? "");
  if (type.includes("boolean")) return fc.oneof({ weight: 4, arbitrary: fc.boolean() }, anything);
  return type.includes("integer")
    ? fc.oneof({ weight: 4, arbitrary: numbers }, anything)
    : fc.oneof({ weight: 4, arbitrary: fitting }, { weight: 3, arbitrary: long }, anything);
}

function refusesShape({ status, body }: Reply): boolean {
  return status === 400 && ["bad_input", "bad_json"].includes(body.error);
}

/** One of each kind of operation: those with the same input differ in nothing that is read here. */
function oneOfEach<Operation>(operations: Operation[], inputOf: (operation: Operation) => unknown): Operation[] {
  const isText = /^(?:title|description|examples?)$/;
  const kinds = Map.groupBy(operations, (operation) =>
    JSON.stringify(inputOf(operation), (name, value) =>
      isText.test(name) && typeof value !== "object" ? undefined : value,
    ),
  );
  return [...kinds.values()].map(([first]) => first as Operation);
}

/** A fault in one of several fields hides those in the others, so several fields need more requests. */
const runsFor = (fields: object) => (Object.keys(fields).length > 1 ? 2 : 1);

describe("a request body", () => {
  const withBody = operations.flatMap(({ method, path, operation }) => {
    const schema = operation.requestBody?.content["application/json"]?.schema;
    return schema === undefined ? [] : [{ name: operation.operationId, method, path, schema }];
  });

  it.each(oneOfEach(withBody, ({ schema }) => resolve(schema)))(
    "of $name is refused exactly if the description refuses it",
    async ({ method, path, schema }) => {
      const members = resolve(schema).properties as Record<string, Schema>;
      const fields = Object.fromEntries(Object.entries(members).map(([name, member]) => [name, around(member)]));
      const required = (resolve(schema).required ?? []) as string[];
      const mostly = fc.record(fields, { requiredKeys: required }) as fc.Arbitrary<object>;
      const beside = fc.oneof(
        fc.record(fields, { requiredKeys: [] }) as fc.Arbitrary<object>,
        fc
          .tuple(mostly, fc.dictionary(fc.constantFrom("extra", "__proto__", "Title"), anything))
          .map(([a, b]) => ({ ...a, ...b })),
        anything,
      );
      const seen = { taken: 0, refused: 0 };
      await fc.assert(
        fc.asyncProperty(fc.oneof({ weight: 3, arbitrary: mostly }, beside), async (body) => {
          const reply = await service.rest(path.replace("{id}", "1"), {
            method: method.toUpperCase(),
            key: await currentKey(path),
            body: JSON.stringify(body),
          });
          const fault = faultOfRequest(schema, JSON.parse(JSON.stringify(body)));
          seen[fault === undefined ? "taken" : "refused"]++;
          expect([refusesShape(reply), fault]).toEqual([fault !== undefined, fault]);
        }),
        { numRuns: 25 * runsFor(fields), seed },
      );
      expect(Math.min(seen.taken, seen.refused)).toBeGreaterThan(5);
    },
  );
});

/** A key for a call. Calls that replace or end the key get their own agent. */
async function currentKey(path: string, method = ""): Promise<string> {
  const endsKey = path.endsWith("/me/key") || (path.endsWith("/me") && method === "delete");
  return endsKey ? (await service.register()).key : key;
}

describe("a query", () => {
  const withQuery = operations.flatMap(({ method, path, operation }) => {
    // What cannot be combined with `subscribed` is more than a schema says.
    const parameters = queryOf(operation).filter(({ name }) => name !== "subscribed");
    // Streams may have no end. Which texts have a word to search for, which types have filters, and that an item needs its id
    // or a book its session, is more than a schema says.
    const beyond = ["streamReceipts", "watchInbox", "search", "listLogEntries", "findReceipt"];
    return parameters.length === 0 || beyond.includes(operation.operationId)
      ? []
      : [{ name: operation.operationId, method, path, parameters }];
  });
  it.each(oneOfEach(withQuery, ({ parameters }) => parameters))(
    "of $name is refused exactly if the description refuses it",
    async ({ method, path, parameters }) => {
      const fields = Object.fromEntries(
        parameters.map(({ name, schema }) => [name, around(schema).map((value) => String(value))]),
      );
      await fc.assert(
        fc.asyncProperty(fc.record(fields, { requiredKeys: [] }), async (query: Record<string, string | undefined>) => {
          const given = parameters.filter(({ name }) => query[name] !== undefined);
          const fault = given
            .map(({ name, schema }) => faultOfRequest(schema, fromText(schema, query[name] as string)))
            .find((each) => each !== undefined);
          const search = new URLSearchParams(
            given.map(({ name }): [string, string] => [name, (query[name] as string).toWellFormed()]),
          );
          const target = path.replace("{kind}", "communities");
          const reply = await service.rest(
            `${target.replace(/\{\w+\}/, target.includes("communities") ? "general" : "1")}?${search}`,
            { method: method.toUpperCase(), key: await currentKey(path, method) },
          );
          expect([refusesShape(reply), search.toString(), fault]).toEqual([
            fault !== undefined,
            search.toString(),
            fault,
          ]);
        }),
        { numRuns: 15 * runsFor(fields), seed },
      );
    },
  );

  /** Cursors are opaque: whatever was not handed out is refused, and the description can tell no more than that. */
  function queryOf({ parameters = [] }: Operation) {
    return parameters.filter(({ name, in: place }) => place === "query" && name !== "cursor");
  }

  /** A query holds texts; those that spell a number or a boolean are one where the schema asks for it. */
  function fromText(schema: Schema, value: string): unknown {
    const { type, items } = resolve(schema);
    // A list of one.
    if (type === "array") return [fromText(items as Schema, value)];
    if (type === "boolean" && ["true", "false"].includes(value)) return value === "true";
    return type === "integer" && /^(?:0|-?[1-9]\d*)$/.test(value) ? Number(value) : value;
  }
});

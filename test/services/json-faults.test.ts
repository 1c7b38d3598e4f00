// What a message in JSON has wrong, in every field of every RPC: a value of a wrong type, and names of enum values that the
// contract does not have, which Connect would ignore.
import type { DescMessage, DescMethod } from "@bufbuild/protobuf";
import { beforeAll, expect, it } from "vitest";
import { Access } from "../../gen/stoa/v1/options_pb.js";
import { rulesOf } from "../../src/contract/rules.ts";
import { allServices } from "../http/properties/contract.ts";
import { type Service, startService } from "../support/service.ts";

const operatorToken = "an-operator-of-32-characters-or-more";
const rpcs = (await allServices()).flatMap(({ methods }) => methods);

let service: Service;
let agent: { key: string };
beforeAll(async () => {
  service = await startService({ config: { operatorToken } });
  agent = await service.register();
});

/** The enum fields of a message, also within others, by the objects that hold them. */
function enumFields(desc: DescMessage, path: string[] = []): { path: string[]; name: string }[] {
  if (desc.typeName.startsWith("google.protobuf.")) return [];
  return desc.fields.flatMap((field) => {
    if (field.message !== undefined) return enumFields(field.message, [...path, field.jsonName]);
    return field.enum === undefined ? [] : [{ path, name: field.name }];
  });
}

async function call(rpc: DescMethod, message: string, headers: Record<string, string>, isGet = false) {
  const credentials = rulesOf(rpc).access === Access.OPERATOR ? operatorToken : agent.key;
  const authorization = `Bearer ${credentials}`;
  const url = `${service.url}/${rpc.parent.typeName}/${rpc.name}`;
  const query = `?connect=v1&encoding=json&message=${encodeURIComponent(message)}`;
  const reply = await (isGet
    ? fetch(url + query, { headers: { authorization } })
    : fetch(url, { method: "POST", headers: { authorization, ...headers }, body: message }));
  return { status: reply.status, body: await reply.text(), headers: reply.headers };
}

const cases = rpcs.flatMap((rpc) =>
  enumFields(rpc.input).map((field) => ({ of: `${rpc.name}.${field.name}`, rpc, field })),
);

it.each(cases)("$of must have a name that there is", async ({ rpc, field: { path, name } }) => {
  const nested = (value: string) =>
    JSON.stringify(path.reduceRight<object>((inner, key) => ({ [key]: inner }), { [name]: value }));
  for (const isGet of rpc.idempotency === 1 ? [false, true] : [false]) {
    const { status, body } = await call(rpc, nested("spam"), { "content-type": "application/json" }, isGet);
    expect([status, JSON.parse(body)]).toMatchObject([
      400,
      {
        code: "invalid_argument",
        message: expect.stringMatching(new RegExp(`^${name} must be [A-Z_]+(?:, [A-Z_]+)* or [A-Z_]+\\.$`)),
        details: expect.arrayContaining([expect.objectContaining({ debug: { error: "bad_input", field: name } })]),
      },
    ]);
  }
});

/** The fields of a message, also within others: a value that each cannot take, by the way to it. */
function wrongValues(desc: DescMessage, path: string[] = []): { path: string[]; words: string }[] {
  return desc.fields.flatMap((field) => {
    const here = [...path, field.name];
    const { message } = field;
    if (field.fieldKind === "list") {
      const within = message === undefined ? [] : wrongValues(message, [...here, "1"]);
      return [{ path: here, words: "an array" }, ...within];
    }
    if (message === undefined) return [{ path: here, words: "" }];
    if (message.typeName.startsWith("google.protobuf.")) return [];
    return [{ path: here, words: "an object" }, ...wrongValues(message, here)];
  });
}

const wrong = rpcs
  .filter(({ methodKind }) => methodKind === "unary")
  .flatMap((rpc) =>
    wrongValues(rpc.input).map((field) => ({ ...field, of: `${rpc.name}: ${field.path.join(".")}`, rpc })),
  );

it.each(wrong)("$of tells what it takes", async ({ rpc, path, words }) => {
  const value = words === "" ? {} : "x";
  // A number is the place in a list, whose other entries are good.
  const hold = (inner: unknown, key: string) => (key === "1" ? [{}, inner] : { [key]: inner });
  const message = JSON.stringify(path.reduceRight<unknown>(hold, value));
  const { status, body } = await call(rpc, message, { "content-type": "application/json" });
  const field = path.join(".").replace(".1", "[1]");
  expect([status, JSON.parse(body)]).toMatchObject([
    400,
    {
      code: "invalid_argument",
      message: expect.stringMatching(
        new RegExp(`^${field.replace(/[.[\]]/g, "\\$&")} must be (?:a|true|[A-Z]|base64|[0-9])`),
      ),
      details: expect.arrayContaining([expect.objectContaining({ debug: { error: "bad_input", field } })]),
    },
  ]);
  if (words !== "") expect(JSON.parse(body).message).toBe(`${field} must be ${words}.`);
});

it("there are such fields, and other unknown members mean nothing", async () => {
  expect(cases.length).toBeGreaterThan(10);
  const listPosts = rpcs.find(({ name }) => name === "ListPosts") as DescMethod;
  const good = await call(listPosts, '{"sort": "FEED_SORT_NEW", "t": null, "other": "x"}', {
    "content-type": "application/json",
  });
  expect(good.status).toBe(200);
  const envelope = Buffer.concat([Buffer.from([0, 0, 0, 0, 16]), Buffer.from('{"sort": "best"}')]);
  const grpcWeb = await call(listPosts, envelope.toString("latin1"), { "content-type": "application/grpc-web+json" });
  expect(grpcWeb.body).toMatch(/^grpc-status: 3\r$/m);
  expect(decodeURIComponent(grpcWeb.body.replace(/[^ -~\n]/g, ""))).toContain(
    "grpc-message: sort must be FEED_SORT_HOT, ",
  );
});

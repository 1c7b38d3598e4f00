import { type FastifyInstance, fastify } from "fastify";
import { expect, it } from "vitest";
import { RequestBodies } from "../../src/calls/request-bodies.ts";

const turn = () => new Promise(setImmediate);

it("bodies are read as bytes, whatever their content type", async () => {
  const app = fastify();
  new RequestBodies().readAsBytes(app);
  app.post("/", async ({ body }) => body);
  for (const [type, length] of [
    ["application/json", 100],
    ["text/plain", 100_000],
  ] as const) {
    const payload = Buffer.alloc(length, "{");
    const reply = await app.inject({ method: "POST", url: "/", headers: { "content-type": type }, payload });
    expect(reply.rawPayload.equals(payload)).toBe(true);
  }
});

it("a body is dropped before the reply is sent", async () => {
  const app = fastify();
  new RequestBodies().readAsBytes(app);
  const bodies: unknown[] = [];
  app.post("/", async (request) => {
    bodies.push(request.body);
    return "";
  });
  app.addHook("onResponse", async ({ body }) => {
    bodies.push(body);
  });
  await app.inject({ method: "POST", url: "/", payload: "{}" });
  expect(bodies).toEqual([Buffer.from("{}"), undefined]);
});

it("large bodies are handled one in each turn of the event loop, and small ones do not wait for them", async () => {
  let parse: (request: { raw: { headers: object } }, body: Buffer, done: () => void) => void = () => {};
  const request = { raw: { headers: {} } };
  const app = {
    removeAllContentTypeParsers() {},
    addHook() {},
    addContentTypeParser(_type: string, _options: unknown, parser: typeof parse) {
      parse = parser;
    },
  };
  new RequestBodies().readAsBytes(app as unknown as FastifyInstance);
  const handled: string[] = [];
  for (const name of ["first", "second", "third"]) parse(request, Buffer.alloc(200_000), () => handled.push(name));
  parse(request, Buffer.alloc(100), () => handled.push("small"));
  expect(handled).toEqual(["first", "small"]);
  await turn();
  expect(handled).toEqual(["first", "small", "second"]);
  await turn();
  expect(handled).toEqual(["first", "small", "second", "third"]);
});

it("a large body is refused while 32 MiB wait for their turns", async () => {
  const bodies = new RequestBodies();
  const body = { length: 1024 * 1024 };
  const turns = Array.from({ length: 34 }, () => bodies.turnOf(body));
  await expect(turns[33]).rejects.toThrow("The service has too many large requests.");
  // The first one did not wait.
  await Promise.all(turns.slice(0, 33));
  await bodies.turnOf(body);
});

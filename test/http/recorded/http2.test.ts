// Replies over HTTP/2 are as they were recorded.
import { it } from "vitest";
import { exchangeHttp2, openSession } from "./exchange.ts";
import { compare, record, sets, startWorld, withLength } from "./recording.ts";

/** For requests that change nothing, and for those of MCP, whose writes come last. */
const world = await startWorld();

it.each(Object.keys(sets))("over HTTP/2, replies are as recorded: %s", async (set) => {
  const { service, keys } = set === "rest" ? await startWorld() : world;
  // The values of fields do not depend on the version of HTTP.
  const cases = ((await sets[set]?.()) ?? []).filter(({ name }) => !/: \??\w+ ?= ?/.test(name));
  let session = openSession(service.url);
  const send = withLength((request) => {
    if (session.closed || session.destroyed) session = openSession(service.url);
    return exchangeHttp2(session, request);
  });
  compare(`${set}-http2`, await record(cases, keys, send, service.log));
  session.destroy();
});

// Replies over HTTP/1.1, those that tell of limits, and those to malformed requests are as they were recorded.
import { it } from "vitest";
import { exchangeBytes, exchangeHttp1 } from "./exchange.ts";
import { limitedCases, limitedQuotas } from "./limited-cases.ts";
import { malformed } from "./malformed-cases.ts";
import { compare, Recorder, record, sets, startWorld, withLength } from "./recording.ts";

/** For requests that change nothing, and for those of MCP, whose writes come last. */
const world = await startWorld();

it("replies to malformed requests are as recorded", async () => {
  const { service } = world;
  const recorder = new Recorder();
  for (const [name, text] of Object.entries(malformed)) {
    recorder.add(name, await exchangeBytes(service.url, Buffer.from(text, "latin1")));
  }
  await recorder.finish(service.log);
  compare("malformed", recorder);
});

it.each(Object.keys(sets))("over HTTP/1.1, replies are as recorded: %s", async (set) => {
  const { service, keys } = set === "rest" ? await startWorld() : world;
  const cases = (await sets[set]?.()) ?? [];
  const send = withLength((request) => exchangeHttp1(service.url, request));
  compare(`${set}-http1`, await record(cases, keys, send, service.log));
});

it("replies that tell of limits are as recorded", async () => {
  const { service, keys } = await startWorld({ config: { rateLimits: limitedQuotas } });
  const send = withLength((request) => exchangeHttp1(service.url, request));
  compare("limits", await record(limitedCases(), keys, send, service.log));
});

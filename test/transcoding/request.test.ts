// Last-Event-ID, with which a stream of events goes on. That it does so over HTTP is in test/ledger/reading.
import { expect, it } from "vitest";
import { LedgerService } from "../../gen/stoa/v1/ledger_service_pb.js";
import { type Binding, bindingsOf } from "../../src/contract/bindings.ts";
import { readRequest } from "../../src/transcoding/request.ts";
import { fixtureBinding } from "../support/fixture.ts";

const stream = bindingsOf(LedgerService).find(({ rpc }) => rpc.name === "StreamReceipts") as Binding;
const resume = (lastEventId: string, query = "from=7", binding = stream) =>
  readRequest(binding, { captured: [], query, body: undefined, lastEventId }).message;

it("goes on after the last event, and wins over the query", () => {
  expect(resume("0")).toMatchObject({ from: 1n });
  expect(resume("0000000000000041")).toMatchObject({ from: 42n });
  expect(resume("9007199254740990")).toMatchObject({ from: 9_007_199_254_740_991n });
  const beyond = expect.objectContaining({ code: "bad_input", field: "from" });
  expect(() => resume("9007199254740991")).toThrow(beyond);
});

it.each(["", "x", "-1", "1.5", "1e3", " 1", "1\n", "12345678901234567"])("is ignored if no event has it: %j", (id) => {
  expect(resume(id)).toMatchObject({ from: 7n });
});

it("is ignored by what does not resume", () => {
  expect(resume("41", "number=1", fixtureBinding("GET", "/v1/things"))).toMatchObject({ number: 1n });
});

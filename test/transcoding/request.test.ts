import { fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { LedgerService } from "../../gen/stoa/v1/ledger_service_pb.js";
import { type Binding, bindingsOf } from "../../src/contract/bindings.ts";
import { StoaError } from "../../src/errors.ts";
import { encoderOf } from "../../src/transcoding/encode.ts";
import { readRequest, resumingField } from "../../src/transcoding/request.ts";
import { fixtureBinding } from "../support/fixture.ts";

/** The members of a message that are set. */
function plain({ rpc }: Binding, message: Message): Record<string, unknown> {
  // Through the binary form, which shows that the message is of its type.
  const members = encoderOf(rpc.input)(fromBinary(rpc.input, toBinary(rpc.input, message)));
  const isSet = (value: unknown) =>
    value !== null &&
    value !== "" &&
    value !== "unspecified" &&
    !(typeof value === "object" && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(members as object).filter(([, value]) => isSet(value)));
}

const badInput = (field: string | undefined, message?: string) =>
  expect.objectContaining({ code: "bad_input", field, ...(message === undefined ? {} : { message }) });

const list = fixtureBinding("GET", "/v1/things");

describe("Last-Event-ID", () => {
  const stream = bindingsOf(LedgerService).find(({ rpc }) => rpc.name === "StreamReceipts") as Binding;
  const resume = (lastEventId: string | undefined, query = "", binding = stream) =>
    plain(binding, readRequest(binding, { captured: [], query, body: undefined, lastEventId }).message);

  it("continues after the last event, and wins over the query", () => {
    expect(resume("41")).toMatchObject({ from: 42 });
    expect(resume("0", "from=7")).toMatchObject({ from: 1 });
    expect(resume("0000000000000041")).toMatchObject({ from: 42 });
    expect(resume("9007199254740990")).toMatchObject({ from: 9_007_199_254_740_991 });
  });

  it.each(["", "x", "-1", "1.5", "1e3", " 1", "1 ", "1\n", "12345678901234567", undefined])(
    "is ignored if it is %j, which no event has",
    (id) => {
      expect(resume(id, "from=7")).toMatchObject({ from: 7 });
    },
  );

  it("is refused if the next event would be beyond the largest seq", () => {
    expect(() => resume("9007199254740991")).toThrow(StoaError);
    expect(() => resume("9007199254740991")).toThrow(badInput("from"));
  });

  it("is ignored by operations that do not resume", () => {
    expect(resume("41", "", list)).toEqual({});
    expect(resumingField(list)).toBeUndefined();
    expect(resumingField(stream)?.name).toBe("from");
  });
});

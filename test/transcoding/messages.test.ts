// What the errors of the codec say. Agents read these texts; programs go by the code and the field.
import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { ReceiptSchema } from "../../gen/stoa/v1/receipt_pb.js";
import { decodeMessage } from "../../src/transcoding/decode.ts";
import { encodeMessage } from "../../src/transcoding/encode.ts";
import { type Input, UrlText } from "../../src/transcoding/input.ts";
import { parseJson } from "../../src/transcoding/json.ts";
import { fixtureMessage } from "../support/fixture.ts";

// First, because what a message looks like is found out once.
it("the lowest field number is reported first, and unknown properties last or not at all", () => {
  const read = (name: string, text: string) => () => decodeMessage(fixtureMessage(name), parseJson(text) as Input);
  expect(read("Strict", '{"odd":1,"third":1,"first":1}')).toThrow(expect.objectContaining({ field: "first" }));
  expect(read("Strict", '{"odd":1,"third":"x"}')).toThrow(expect.objectContaining({ field: "odd" }));
  expect(read("Scalars", '{"odd":1,"a_bool":true}')()).toMatchObject({ aBool: true });
});

const nested = (levels: number) => `${'{"child":'.repeat(levels)}{}${"}".repeat(levels)}`;

it.each<[string, string, string | undefined, string]>([
  ["Scalars", '{"a_string":1}', "a_string", "a_string must be a string."],
  ["Scalars", '{"a_string":"\\ud800"}', "a_string", "a_string is not well-formed text: it holds a lone surrogate."],
  ["Scalars", '{"a_bool":1}', "a_bool", "a_bool must be true or false."],
  ["Scalars", '{"a_bytes":"*"}', "a_bytes", "a_bytes must be base64."],
  ["Scalars", '{"a_bytes":1}', "a_bytes", "a_bytes must be base64."],
  ["Scalars", '{"a_double":"1"}', "a_double", "a_double must be a number."],
  ["Scalars", '{"a_float":1e39}', "a_float", "a_float is out of range."],
  ["Scalars", '{"an_int32":1.5}', "an_int32", "an_int32 must be an integer."],
  ["Scalars", '{"an_int32":2147483648}', "an_int32", "an_int32 is out of range."],
  ["Scalars", '{"a_color":"mauve"}', "a_color", "a_color must be one of red, dark_green, crimson, below."],
  ["Scalars", '{"a_bare":"nothing"}', "a_bare", "a_bare must be one of something."],
  ["Lists", '{"a_bool":true}', "a_bool", "a_bool must be an array."],
  ["Lists", '{"a_bool":[true,1]}', "a_bool[1]", "a_bool[1] must be true or false."],
  ["Maps", '{"by_int32":[]}', "by_int32", "by_int32 must be an object."],
  ["Maps", '{"by_int32":{"x":1}}', "by_int32.x", "x cannot be a key of by_int32."],
  ["Maps", '{"counts":{"x":"1"}}', "counts.x", "counts.x must be an integer."],
  ["Node", '{"child":7}', "child", "child must be an object."],
  ["Node", '{"child":{"name":7}}', "child.name", "child.name must be a string."],
  ["Choice", '{"text":"a","number":1}', "number", "number excludes another member of choice."],
  ["Strict", '{"second":{"odd":1}}', "second.odd", "There is no property odd."],
  ["Strict", '{"odd":1}', "odd", "There is no property odd."],
  ["WellKnown", '{"time":"today"}', "time", "time must be a date and time as in RFC 3339."],
  ["WellKnown", '{"time":["2026-01-01T00:00:00Z"]}', "time", "time must be a date and time as in RFC 3339."],
  ["WellKnown", '{"duration":"1"}', "duration", "duration is not a Duration."],
  ["WellKnown", '{"struct":[]}', "struct", "struct must be an object."],
  ["WellKnown", '{"struct":{"a":[1e400]}}', "struct", "struct holds a number that is out of range."],
  ["WellKnown", '{"struct":{"\\udc00":1}}', "struct", "struct is not well-formed text: it holds a lone surrogate."],
])("%s %s is refused: %s, %s", (name, text, field, message) => {
  const read = () => decodeMessage(fixtureMessage(name), parseJson(text) as Input);
  expect(read).toThrow(expect.objectContaining({ code: "bad_input", field, message }));
});

it("a message that is nested too deeply is refused with its path", () => {
  const Node = fixtureMessage("Node");
  // The parser has the same limit, so such an input cannot come from JSON alone.
  let input: Input = new Map();
  for (let level = 0; level < 100; level++) input = new Map([["child", input]]);
  const at = Array(100).fill("child").join(".");
  expect(() => decodeMessage(Node, input)).toThrow(
    expect.objectContaining({ code: "bad_input", field: at, message: `${at} is nested too deeply.` }),
  );
  expect(() => decodeMessage(Node, parseJson(nested(99)) as Input)).not.toThrow();
});

it("a text of the URL is refused with the same words as JSON", () => {
  const read = (name: string, field: string, ...values: string[]) =>
    decodeMessage(fixtureMessage(name), new Map([[field, new UrlText(values)]]));
  expect(() => read("Scalars", "a_bool", "True")).toThrow("a_bool must be true or false.");
  expect(() => read("Scalars", "an_int32", "1.0")).toThrow("an_int32 must be an integer.");
  expect(() => read("Scalars", "a_double", "0x1")).toThrow("a_double must be a number.");
  expect(() => read("Scalars", "a_bool", "true", "true")).toThrow("a_bool is given more than once.");
  expect(() => read("WellKnown", "duration", "1")).toThrow("duration is not a Duration.");
});

it("NaN and the infinities are texts, also in the URL", () => {
  for (const word of ["NaN", "Infinity", "-Infinity"]) {
    const json = decodeMessage(fixtureMessage("Scalars"), new Map([["a_double", word]]));
    const url = decodeMessage(fixtureMessage("Scalars"), new Map([["a_double", new UrlText([word])]]));
    for (const message of [json, url]) expect(message).toMatchObject({ aDouble: Number(word) });
  }
});

it("a value without a JSON form is not encoded, and the error says why", () => {
  const encode = <Desc extends DescMessage>(desc: Desc, init: Record<string, unknown>) =>
    encodeMessage(desc, create(desc, init as MessageInitShape<Desc>));
  const Scalars = fixtureMessage("Scalars");
  const beyond = (message: string) => expect.objectContaining({ name: "RangeError", message });
  expect(() => encode(Scalars, { anInt64: 9007199254740992n })).toThrow(
    beyond("9007199254740992 is beyond the integers of JSON"),
  );
  expect(() => encode(Scalars, { aColor: 7 })).toThrow(beyond("fixture.v1.Color has no value 7"));
  expect(() => encode(fixtureMessage("WellKnown"), { time: { seconds: 253402300800n, nanos: 0 } })).toThrow(
    beyond("253402300800 seconds are beyond the years of RFC 3339"),
  );
});

it("a member that the contract omits is absent while it is unset; others are null", () => {
  expect(encodeMessage(ReceiptSchema, create(ReceiptSchema))).not.toHaveProperty("damaged");
  expect(encodeMessage(ReceiptSchema, create(ReceiptSchema, { damaged: false }))).toMatchObject({ damaged: false });
  const Node = fixtureMessage("Node");
  expect(encodeMessage(Node, create(Node))).toMatchObject({ child: null, weight: null });
});

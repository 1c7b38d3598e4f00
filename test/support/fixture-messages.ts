import { create, type DescField, type DescMessage, fromJson, type Message, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { anyCharacter } from "./any-character.ts";

const text = fc.string({ unit: anyCharacter, maxLength: 8 });
const safeLong = fc.maxSafeInteger().map(BigInt);
const safeUnsignedLong = fc.maxSafeNat().map(BigInt);
const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const uint32 = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const bytes = fc.uint8Array({ maxLength: 9 });
// JSON.stringify writes -0 as 0.
const noMinusZero = (value: number) => (Object.is(value, -0) ? 0 : value);

const scalars: Record<ScalarType, fc.Arbitrary<unknown>> = {
  [ScalarType.DOUBLE]: fc.double().map(noMinusZero),
  [ScalarType.FLOAT]: fc.float().map(noMinusZero),
  [ScalarType.INT32]: int32,
  [ScalarType.SINT32]: int32,
  [ScalarType.SFIXED32]: int32,
  [ScalarType.UINT32]: uint32,
  [ScalarType.FIXED32]: uint32,
  [ScalarType.INT64]: safeLong,
  [ScalarType.SINT64]: safeLong,
  [ScalarType.SFIXED64]: safeLong,
  [ScalarType.UINT64]: safeUnsignedLong,
  [ScalarType.FIXED64]: safeUnsignedLong,
  [ScalarType.BOOL]: fc.boolean(),
  [ScalarType.STRING]: text,
  [ScalarType.BYTES]: bytes,
};

const ms = fc.integer({ min: Date.parse("0001-01-01T00:00:00Z"), max: Date.parse("9999-12-31T23:59:59.999Z") });
const jsonValue = fc
  .jsonValue({ maxDepth: 3, stringUnit: anyCharacter })
  .map((value) => JSON.parse(JSON.stringify(value)));
const jsonObject = fc.dictionary(fc.oneof(text, fc.constant("__proto__")), jsonValue, { maxKeys: 4 });

/**
 * Any message of a type that REST JSON preserves: integers up to 2^53-1, times in whole milliseconds, and no enum at its
 * zero value.
 */
export function anyMessage(desc: DescMessage, depth = 0): fc.Arbitrary<Message> {
  const special = wellKnown[desc.typeName];
  if (special !== undefined) return special(desc);
  const properties: Record<string, fc.Arbitrary<unknown>> = {};
  for (const field of desc.fields) if (field.oneof === undefined) properties[field.localName] = anyField(field, depth);
  for (const oneof of desc.oneofs) {
    const cases = oneof.fields.map((field) =>
      anySingular(field, depth).map((value) => ({ case: field.localName, value })),
    );
    properties[oneof.localName] = fc.oneof(fc.constant({ case: undefined }), ...cases);
  }
  return fc.record(properties).map((init) => create(desc, init));
}

function anyField(field: DescField, depth: number): fc.Arbitrary<unknown> {
  const most = depth > 2 ? 0 : 3;
  switch (field.fieldKind) {
    case "list":
      return most === 0 ? fc.constant([]) : fc.array(anySingular(field, depth), { maxLength: most });
    case "map": {
      if (most === 0) return fc.constant({});
      const key = (scalars[field.mapKey] as fc.Arbitrary<unknown>).map(String);
      const keys = field.mapKey === ScalarType.STRING ? fc.oneof(key, fc.constant("__proto__")) : key;
      return fc
        .array(fc.tuple(keys, anySingular(field, depth)), { maxLength: most })
        .map((entries) => Object.fromEntries(entries));
    }
    case "message":
      return depth > 2 ? fc.constant(undefined) : fc.option(anySingular(field, depth), { nil: undefined });
    default: {
      const value = anySingular(field, depth);
      return field.presence === FeatureSet_FieldPresence.IMPLICIT ? value : fc.option(value, { nil: undefined });
    }
  }
}

function anySingular(field: DescField, depth: number): fc.Arbitrary<unknown> {
  if (field.enum) {
    return fc.constantFrom(...field.enum.values.map(({ number }) => number).filter((number) => number !== 0));
  }
  if (field.scalar !== undefined) return scalars[field.scalar];
  const message = field.message as DescMessage;
  if (message.typeName === "google.protobuf.Struct") return jsonObject;
  const isBare = field.fieldKind === "message" && field.oneof === undefined && /Value$/.test(message.typeName);
  const [wrapped] = message.fields;
  if (isBare && wrapped?.fieldKind === "scalar") return scalars[wrapped.scalar];
  return fc.constant(undefined).chain(() => anyMessage(message, depth + 1));
}

const wellKnown: Record<string, (desc: DescMessage) => fc.Arbitrary<Message>> = {
  "google.protobuf.Timestamp": (desc) =>
    ms.map((each) => {
      const seconds = Math.floor(each / 1000);
      return create(desc, init({ seconds: BigInt(seconds), nanos: (each - seconds * 1000) * 1_000_000 }));
    }),
  "google.protobuf.Duration": (desc) =>
    fc
      .tuple(fc.nat(999_999_999), fc.nat(999_999_999), fc.constantFrom(1, -1))
      .map(([seconds, nanos, sign]) =>
        create(desc, init({ seconds: BigInt(seconds * sign), nanos: noMinusZero(nanos * sign) })),
      ),
  "google.protobuf.FieldMask": (desc) =>
    fc.array(fc.constantFrom("a", "b_c", "d.e_f")).map((paths) => create(desc, init({ paths }))),
  "google.protobuf.Value": (desc) => jsonValue.filter((value) => value !== null).map((value) => fromJson(desc, value)),
  "google.protobuf.ListValue": (desc) => fc.array(jsonValue, { maxLength: 3 }).map((values) => fromJson(desc, values)),
};

/** For a message type that is known only at run time. */
function init(value: object): Record<string, unknown> {
  return value as Record<string, unknown>;
}

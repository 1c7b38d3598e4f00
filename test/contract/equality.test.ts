import {
  clone,
  create,
  type DescField,
  type DescMessage,
  equals,
  type Message,
  type MessageShape,
  ScalarType,
} from "@bufbuild/protobuf";
import { StringValueSchema, StructSchema } from "@bufbuild/protobuf/wkt";
import { expect, it } from "vitest";
import { HealthCheckResponseSchema } from "../../gen/grpc/health/v1/health_pb.js";
import { CommunityService } from "../../gen/stoa/v1/community_service_pb.js";
import { GetPostResponseSchema, ListPostsResponseSchema, PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { createEquality } from "../../src/contract/equality.ts";
import { fixtureMessage } from "../support/fixture.ts";

type Members = Record<string, unknown>;

let made = 0;

/** A value of a field that no other field has, except for those with few values. */
function valueFor(field: DescField): unknown {
  made += 1;
  if (field.message !== undefined) return filled(field.message);
  if (field.enum !== undefined) return (field.enum.values[1] ?? field.enum.values[0])?.number;
  switch (field.scalar) {
    case ScalarType.STRING:
      return `text ${made}`;
    case ScalarType.BOOL:
      return true;
    case ScalarType.INT64:
    case ScalarType.UINT64:
      return BigInt(made);
    default:
      return made;
  }
}

/** A message with a value in each field, and two in each list. */
function filled(desc: DescMessage): Message {
  const members: Members = {};
  for (const field of desc.fields) {
    members[field.localName] = field.fieldKind === "list" ? [valueFor(field), valueFor(field)] : valueFor(field);
  }
  return create(desc, members as never);
}

/** Copies of a message that each differ from it in one place. */
function* changed<Desc extends DescMessage>(desc: Desc, message: MessageShape<Desc>): Generator<MessageShape<Desc>> {
  const copyWith = (name: string, value: unknown) => Object.assign(clone(desc, message), { [name]: value });
  for (const field of desc.fields) {
    const { localName: name, message: inner } = field;
    const value = (message as unknown as Members)[name];
    if (field.fieldKind === "list") {
      const list = value as unknown[];
      yield copyWith(name, []);
      yield copyWith(name, list.slice(1));
      yield copyWith(name, list.toReversed());
      if (inner !== undefined) {
        for (const item of changed(inner, list[1] as Message)) yield copyWith(name, [list[0], item]);
      }
    } else if (inner !== undefined) {
      yield copyWith(name, undefined);
      for (const each of changed(inner, value as Message)) yield copyWith(name, each);
    } else if (field.enum !== undefined) {
      yield copyWith(name, field.enum.values[0]?.number);
    } else if (field.scalar === ScalarType.BOOL) yield copyWith(name, false);
    else yield copyWith(name, valueFor(field));
  }
}

const types = [
  ListPostsResponseSchema,
  GetPostResponseSchema,
  HealthCheckResponseSchema,
  ...PostService.methods.map(({ output }) => output),
  ...CommunityService.methods.map(({ output }) => output),
];

it.each([...new Set(types)].map((desc) => [desc.name, desc] as const))("finds each change of a %s", (_name, desc) => {
  const areEqual = createEquality(desc);
  const message = filled(desc);
  expect(areEqual?.(message, clone(desc, message))).toBe(true);
  expect(areEqual?.(create(desc), create(desc))).toBe(true);
  let changes = 0;
  for (const other of changed(desc, message)) {
    changes += 1;
    expect(equals(desc, message, other)).toBe(false);
    expect([areEqual?.(message, other), areEqual?.(other, message)]).toEqual([false, false]);
  }
  expect(changes).toBeGreaterThan(0);
});

it("does not compare maps, bytes, oneofs, wrappers, or messages within themselves", () => {
  expect(createEquality(StringValueSchema)).toBeUndefined();
  expect(createEquality(StructSchema)).toBeUndefined();
  expect(createEquality(fixtureMessage("Node"))).toBeUndefined();
  expect(createEquality(fixtureMessage("Things"))).toBeUndefined();
});

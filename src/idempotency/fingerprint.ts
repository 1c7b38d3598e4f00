import { createHash } from "node:crypto";
import { type DescMessage, type DescMethod, type Message, toBinary } from "@bufbuild/protobuf";

/**
 * The hash of a call: its RPC and the content of its message. It is the same over every protocol. Unknown fields do not
 * count. An absent optional field differs from one that holds its default. The order of members of maps and objects does
 * not count.
 */
export function fingerprintOf(rpc: DescMethod, message: Message): Buffer {
  const content = toBinary(rpc.input, hasMembers(rpc.input) ? (sorted(message) as Message) : message, {
    // A client of another version may send unknown fields.
    writeUnknownFields: false,
  });
  return createHash("sha256").update(`${rpc.parent.typeName}/${rpc.name}\0`).update(content).digest();
}

const withMembers = new Map<DescMessage, boolean>();

/** Whether messages of this type hold maps or objects (google.protobuf.Struct). Their binary form has no fixed order. */
function hasMembers(desc: DescMessage): boolean {
  let answer = withMembers.get(desc);
  if (answer === undefined) {
    answer = findsMap(desc, new Set());
    withMembers.set(desc, answer);
  }
  return answer;
}

/** Looks for a map in a message and in everything that it holds. @param visited the messages already looked at */
function findsMap(desc: DescMessage, visited: Set<DescMessage>): boolean {
  // A message may contain its own type, directly or through other types.
  if (visited.has(desc)) return false;
  visited.add(desc);
  return desc.fields.some(
    ({ fieldKind, message }) => fieldKind === "map" || (message !== undefined && findsMap(message, visited)),
  );
}

/** A copy whose objects, messages among them, have their members in the order of their names. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return value;
  // The copy has no prototype, so that no name is special.
  const copy: Record<string, unknown> = Object.create(null);
  for (const name of Object.keys(value).sort()) copy[name] = sorted((value as Record<string, unknown>)[name]);
  return copy;
}

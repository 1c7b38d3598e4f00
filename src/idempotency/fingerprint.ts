import { createHash } from "node:crypto";
import { type DescMessage, type DescMethod, type Message, toBinary } from "@bufbuild/protobuf";

/**
 * The hash of a call: which RPC it is, and what its message says. It is the same over every protocol. Unknown fields do not
 * count; an optional field that is absent differs from one that holds its default; members of maps and objects count
 * without their order.
 */
export function fingerprintOf(rpc: DescMethod, message: Message): Buffer {
  const content = toBinary(rpc.input, hasMembers(rpc.input) ? (sorted(message) as Message) : message, {
    // Those that a client of another version sends.
    writeUnknownFields: false,
  });
  return createHash("sha256").update(`${rpc.parent.typeName}/${rpc.name}\0`).update(content).digest();
}

const withMembers = new Map<DescMessage, boolean>();

/** Whether messages of this kind hold maps or objects (google.protobuf.Struct), which the binary form has in any order. */
function hasMembers(desc: DescMessage): boolean {
  let answer = withMembers.get(desc);
  if (answer === undefined) {
    // Registered before it is known: a message may hold itself.
    withMembers.set(desc, false);
    answer = desc.fields.some(
      ({ fieldKind, message }) => fieldKind === "map" || (message !== undefined && hasMembers(message)),
    );
    withMembers.set(desc, answer);
  }
  return answer;
}

/** A copy whose objects, messages among them, have their members in the order of their names. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return value;
  // Without a prototype, so that no name is special.
  const copy: Record<string, unknown> = Object.create(null);
  for (const name of Object.keys(value).sort()) copy[name] = sorted((value as Record<string, unknown>)[name]);
  return copy;
}

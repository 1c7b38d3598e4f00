// The texts that entries commit to. An entry has only the hash of its text.
import type { Json } from "../../receipt/canonical.ts";
import { toHex, toUtf8 } from "../encoding.ts";
import { TlogError } from "../error.ts";
import type { Sha256 } from "../tree/hashing.ts";
import { isSize } from "../tree/ranges.ts";
import { canonicalText, type JsonObject, parseCanonicalObject } from "./canonical-text.ts";

/** What is committed to, by the kind of item. Agents and communities are given by their ids. */
export interface Contents {
  agent: { bio: string; name: string; resident: number | null };
  /** `agent` is null if the community is built in. */
  community: { agent: number | null; description: string; name: string; title: string };
  post: { agent: number; body: string; community: number; title: string };
  comment: { agent: number; body: string };
}

export type ContentKind = keyof Contents;

export const saltBytes = 16;

type MemberType = "text" | "id" | "id or null";

const members: { [Kind in ContentKind]: { [Name in keyof Contents[Kind]]: MemberType } } = {
  agent: { bio: "text", name: "text", resident: "id or null" },
  community: { agent: "id or null", description: "text", name: "text", title: "text" },
  post: { agent: "id", body: "text", community: "id", title: "text" },
  comment: { agent: "id", body: "text" },
};

export function isContentKind(kind: string): kind is ContentKind {
  return Object.hasOwn(members, kind);
}

/** Returns the text C, which is RFC 8785. @throws TlogError `bad_content` for what would not parse */
export function formatContent<Kind extends ContentKind>(kind: Kind, content: Contents[Kind]): string {
  const value = content as unknown as JsonObject;
  const text = canonicalText(value);
  if (text === undefined) throw badContent("it has no canonical form");
  checkMembers(kind, value);
  return text;
}

/** Reads the text C of an item. Unknown members are no fault. @throws TlogError `bad_content` */
export function parseContent<Kind extends ContentKind>(kind: Kind, text: string): Contents[Kind] {
  const content = parseCanonicalObject(text);
  if (content === undefined) throw badContent("it is not an object in canonical JSON");
  checkMembers(kind, content);
  return content as unknown as Contents[Kind];
}

/** What is hashed for a commitment: the salt, then C in UTF-8. @throws TlogError `bad_content` unless the salt has 16 bytes */
export function commitmentInput(salt: Uint8Array, content: string): Uint8Array<ArrayBuffer> {
  if (salt.length !== saltBytes) throw badContent(`its salt has not ${saltBytes} bytes`);
  const text = toUtf8(content);
  const input = new Uint8Array(saltBytes + text.length);
  input.set(salt);
  input.set(text, saltBytes);
  return input;
}

/**
 * The commitment to a text, as it stands in the entry.
 * @param salt 16 random bytes, new for each version of a text
 * @param content C
 * @throws TlogError `bad_content` unless the salt has 16 bytes
 */
export function commitment(salt: Uint8Array, content: string, sha256: Sha256): string {
  return toHex(sha256(commitmentInput(salt, content)));
}

function checkMembers(kind: ContentKind, content: JsonObject): void {
  const types: { [name: string]: MemberType } = members[kind];
  for (const [name, type] of Object.entries(types)) {
    if (!Object.hasOwn(content, name) || !isOf(type, content[name] as Json)) {
      throw badContent(`${name} is missing or malformed`);
    }
  }
}

function isOf(type: MemberType, value: Json): boolean {
  if (type === "text") return typeof value === "string";
  return (type === "id or null" && value === null) || (typeof value === "number" && isSize(value) && value > 0);
}

function badContent(why: string): TlogError {
  return new TlogError("bad_content", `the content is malformed: ${why}`);
}

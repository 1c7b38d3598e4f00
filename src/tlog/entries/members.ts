// The members that each type of entry has.
import type { Json } from "../../receipt/canonical.ts";
import { isHash, isTime } from "../../receipt/document.ts";
import { isSize } from "../tree/ranges.ts";
import type { JsonObject } from "./canonical-text.ts";
import type { Entry } from "./entry.ts";

type Check = (value: Json | undefined) => boolean;

const isText: Check = (value) => typeof value === "string" && value !== "";
const isCount: Check = (value) => typeof value === "number" && isSize(value);
const isId: Check = (value) => isCount(value) && value !== 0;
/** A word of a closed set, to which later versions may add. */
const isName: Check = (value) => typeof value === "string" && /^[a-z][a-z_]{0,31}$/.test(value);
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const objectOf =
  (members: Record<string, Check>): Check =>
  (value) =>
    isObject(value) && findBadMember(value, members) === undefined;

const ofAll = { v: (value: Json | undefined) => value === 1, type: isName, ts: isTime as Check };
const isImported = optional((value) => value === true);
const creation = { content: isHash as Check, id: isId };
const previous = objectOf({ origin: isText, root: isHash, size: isId, vkey: isText });

const ofType: { [Type in Entry["type"]]: Record<string, Check> } = {
  log: { origin: isText, vkey: isText, previous: optional(previous) },
  agent: creation,
  community: creation,
  post: creation,
  comment: { ...creation, parent: orNull(isId), post: isId },
  edit: { ...creation, of: isName },
  deletion: { id: isId, of: isName },
  act: { act: isName, id: isId, item: isName, item_id: isId, reason: orNull(isName), role: isName },
  receipt: { hash: isHash, seq: isId },
  recovery: { from: isCount, to: isCount },
};

export function isKnownType(type: string): type is Entry["type"] {
  return Object.hasOwn(ofType, type);
}

/** The first member of an entry that is missing or malformed; undefined if there is none. Unknown members are no fault. */
export function findBadEntryMember(entry: JsonObject): string | undefined {
  const bad = findBadMember(entry, ofAll);
  if (bad !== undefined || !isKnownType(entry.type as string)) return bad;
  const members = ofType[entry.type as Entry["type"]];
  return findBadMember(entry, { ...members, imported: isImported });
}

function findBadMember(value: JsonObject, members: Record<string, Check>): string | undefined {
  return Object.keys(members).find((name) => !members[name]?.(Object.hasOwn(value, name) ? value[name] : undefined));
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

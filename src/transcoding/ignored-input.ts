import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { also_called } from "../../gen/stoa/v1/options_pb.js";
import { getOption } from "../contract/options.ts";
import type { Input, Node } from "./input.ts";
import { hasProtoJsonForm, isStruct, isTimestamp, wrappedScalar } from "./well-known.ts";

/** How many warnings a response has at most. */
export const maxWarnings = 8;
/** How many characters of a name a warning shows at most. */
const maxShownName = 64;

/** What callers call the named parts of their input. */
type Noun = "a member of this request" | "a parameter of this request" | "an argument of this tool";

/**
 * Collects what a request holds without any effect. The caller is told in `warnings`, because a program that sends
 * `content` in place of `body` would otherwise never find out why its text is missing.
 */
export class IgnoredInput {
  /** In the order in which the input was found. */
  readonly warnings: string[] = [];

  /** @param candidates the fields that the caller may have meant */
  unknown(name: string, noun: Noun, candidates: readonly DescField[]): void {
    if (this.isFull) return;
    const meant = findMeant(name.slice(name.lastIndexOf(".") + 1), candidates);
    this.#add(`${quote(name)} is not ${noun}${meant === undefined ? "." : `; did you mean "${meant}"?`}`);
  }

  misplaced(name: string, reason: string): void {
    this.#add(`${quote(name)} ${reason}`);
  }

  /** The header by which other services read an idempotency key. */
  otherHeader(): void {
    this.#add("The header X-Idempotency-Key is not read; send Idempotency-Key.");
  }

  get isFull(): boolean {
    return this.warnings.length >= maxWarnings;
  }

  #add(warning: string): void {
    if (!this.isFull && !this.warnings.includes(warning)) this.warnings.push(warning);
  }
}

/**
 * Adds the members of an input that no field of its message reads.
 * @param input must have been decoded without an error
 * @param without the fields of the message that have their values from elsewhere
 * @param at what stands before the names of members
 */
export function addUnknownMembers(
  ignored: IgnoredInput,
  desc: DescMessage,
  input: Input,
  noun: Noun,
  without: readonly string[] = [],
  at = "",
): void {
  let known = 0;
  for (const field of desc.fields) {
    const node = input.get(field.name);
    if (node === undefined) continue;
    known += 1;
    if (field.message === undefined || !hasMembers(field.message)) continue;
    for (const [place, element] of elementsOf(field, node)) {
      if (ignored.isFull) return;
      if (element instanceof Map)
        addUnknownMembers(ignored, field.message, element as Input, noun, [], `${at}${place}.`);
    }
  }
  if (known === input.size) return;
  const candidates = desc.fields.filter(({ name }) => !without.includes(name));
  for (const name of input.keys()) {
    if (ignored.isFull) return;
    if (!desc.fields.some((field) => field.name === name)) ignored.unknown(at + name, noun, candidates);
  }
}

/** Whether the JSON form of a message is an object with a member for each field. */
function hasMembers(desc: DescMessage): boolean {
  return !isTimestamp(desc) && !isStruct(desc) && !hasProtoJsonForm(desc) && wrappedScalar(desc) === undefined;
}

function* elementsOf({ name, fieldKind }: DescField, node: Node): Generator<[place: string, element: Node]> {
  if (fieldKind === "list" && Array.isArray(node)) {
    for (const [index, element] of node.entries()) yield [`${name}[${index}]`, element];
  } else if (fieldKind === "map" && node instanceof Map) {
    for (const [key, element] of node) yield [`${name}.${key}`, element];
  } else yield [name, node];
}

/** The name in quotes, and cut. JSON escapes what could disturb the text around it. */
function quote(name: string): string {
  // Cut twice: a name may have a quarter of a million characters, and a character one or two code units.
  const cut = Array.from(name.slice(0, 2 * maxShownName)).slice(0, maxShownName);
  return JSON.stringify(cut.join(""));
}

/** Finds the field that the contract says is called so too, or whose name is spelled almost so. */
function findMeant(name: string, candidates: readonly DescField[]): string | undefined {
  if (name.length > maxShownName) return undefined;
  const plain = simplify(name);
  const other = candidates.find((field) =>
    [field.name, ...getOption(field, also_called).split(" ")].some((each) => simplify(each) === plain),
  );
  if (other !== undefined) return other.name;
  const near = candidates
    .map((field) => ({ field, distance: editDistance(plain, simplify(field.name)) }))
    // Short names are all similar.
    .filter(({ field, distance }) => distance <= 2 && distance * 2 < Math.min(plain.length, field.name.length))
    .toSorted((a, b) => a.distance - b.distance);
  return near[0]?.field.name;
}

/** Without the differences between parentId, parent-id and parent_id. */
function simplify(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, "");
}

/** How many characters must be added, left out, replaced or swapped with their neighbour to make `b` of `a`. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row[j] = Math.min(at(last, j) + 1, at(row, j - 1) + 1, replaced);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) row[j] = Math.min(at(row, j), at(beforeLast, j - 2) + 1);
    }
    beforeLast = last;
    last = row;
  }
  return at(last, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] as number;
}

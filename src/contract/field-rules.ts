import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import type { Path } from "@bufbuild/protobuf/reflect";
import { createValidator } from "@bufbuild/protovalidate";
import { Text, text } from "../../gen/stoa/v1/options_pb.js";
import { badInput } from "../errors.ts";
import { ruleSentence } from "./field-words.ts";
import { maxItemsOf } from "./message-limits.ts";
import { getOption } from "./options.ts";
import { apiKeysInText, secretBegins, secretForms } from "./secret-forms.ts";

const patterns = new Map<string, RegExp>();

const validator = createValidator({
  // The patterns come from the contract, not from clients. So the engine of the platform is safe, and faster than RE2.
  regexMatch(pattern, text) {
    let compiled = patterns.get(pattern);
    if (compiled === undefined) {
      compiled = new RegExp(pattern, "u");
      patterns.set(pattern, compiled);
    }
    return compiled.test(text);
  },
});

/** A text of the form of an API key of this board, in a field of a request. */
export interface KeyInText {
  readonly field: string;
  readonly key: string;
}

/** How many different keys a text may seem to hold. They are all looked up. */
const maxKeysInText = 16;

/**
 * Checks a request against the field rules of the contract.
 * @returns what has the form of an API key in its texts: whether it works as one is looked up later
 * @throws StoaError `bad_input` for the violation in the lowest field number
 */
export function checkRules(desc: DescMessage, message: Message): readonly KeyInText[] {
  // One entry too many is enough to refuse a list. A check of a hundred thousand more would take seconds and all memory.
  for (const { localName, maxItems } of boundedLists.get(desc) ?? findBoundedLists(desc)) {
    const list = (message as unknown as Record<string, unknown[] | undefined>)[localName];
    if (list !== undefined && list.length > maxItems) list.length = maxItems + 1;
  }
  const result = validator.validate(desc, message);
  if (result.kind === "error") throw result.error;
  const violations = (result.violations ?? []).map(({ field }) => faultAt(field));
  const texts = textFaults(desc, message, violations);
  const faults = [...violations, ...texts.faults];
  const [first] = faults.toSorted((a, b) => a.number - b.number);
  if (first !== undefined) throw badInput(first.field, first.message);
  return texts.keys;
}

/** A list that may have only so many entries. */
interface BoundedList {
  localName: string;
  maxItems: number;
}

/** Those of each message type. */
const boundedLists = new Map<DescMessage, readonly BoundedList[]>();

function findBoundedLists(desc: DescMessage): readonly BoundedList[] {
  const found = desc.fields.flatMap((field) => {
    const maxItems = field.fieldKind === "list" ? maxItemsOf(field) : undefined;
    return maxItems === undefined ? [] : [{ localName: field.localName, maxItems }];
  });
  boundedLists.set(desc, found);
  return found;
}

interface Fault {
  /** The number of the request's field. */
  number: number;
  field: string;
  message: string;
}

function faultAt(path: Path): Fault {
  const field = path
    .map((part) => (part.kind === "field" ? `.${part.name}` : part.kind === "list_sub" ? `[${part.index}]` : ""))
    .join("")
    .slice(1);
  const [first] = path;
  const last = path.findLast((part) => part.kind === "field");
  const message =
    last === undefined ? `${field} is not valid.` : ruleSentence(last, field, path.at(-1)?.kind === "list_sub");
  return { number: first?.kind === "field" ? first.number : 0, field, message };
}

/** The text fields of each message type. Looking up an option takes longer than checking a text. */
const textFields = new Map<DescMessage, readonly { field: DescField; kind: Text }[]>();

/** @param violations of other rules. A text that breaks one may be very long, and is refused for that */
function textFaults(
  desc: DescMessage,
  message: Message,
  violations: readonly Fault[],
): { faults: Fault[]; keys: KeyInText[] } {
  let fields = textFields.get(desc);
  if (fields === undefined) {
    fields = desc.fields
      .map((field) => ({ field, kind: getOption(field, text) }))
      .filter(({ kind }) => kind !== Text.UNSPECIFIED);
    textFields.set(desc, fields);
  }
  const faults: Fault[] = [];
  const keys: KeyInText[] = [];
  for (const { field, kind } of fields) {
    const { name, number, localName } = field;
    const value = (message as unknown as Record<string, string | undefined>)[localName];
    if (value === undefined || violations.some((each) => each.number === number)) continue;
    let fault = faultOfText(kind, name, value);
    if (secretBegins.test(value)) {
      const found = keysIn(name, value);
      fault ??= faultOfSecrets(name, value, found.length);
      keys.push(...found);
    }
    if (fault !== undefined) faults.push({ number, field: name, message: fault });
  }
  return { faults, keys };
}

/**
 * A placeholder, such as `ghp_xxxx…` or `ghp_MyToken00000…`, has few different characters, or one many times in a row, or it
 * ends with EXAMPLE.
 */
const minDifferent = 10;
const repeated = /(.)\1{4}/;

/** @param keys how many texts of the form of an API key it holds */
function faultOfSecrets(name: string, value: string, keys: number): string | undefined {
  for (const secret of secretForms) {
    for (const { groups } of value.matchAll(secret.form)) {
      const random = groups?.secret ?? "";
      const isPlaceholder = new Set(random).size < minDifferent || repeated.test(random) || random.endsWith("EXAMPLE");
      if (isPlaceholder) continue;
      return `${name} holds ${secret.name}, which everybody could use. Leave it out, and revoke it if anybody has seen it.`;
    }
  }
  return keys > maxKeysInText ? `${name} holds more than ${maxKeysInText} texts of the form of an API key.` : undefined;
}

function keysIn(field: string, value: string): KeyInText[] {
  const keys = new Set(Array.from(value.matchAll(apiKeysInText), ([, key]) => key as string));
  return Array.from(keys, (key) => ({ field, key }));
}

const notControl = "[\\P{Cc}\\t\\n\\r]";
/** The blank pattern of Braille (U+2800) is a symbol, and looks like a space. */
const shown = "[^\\s\\p{Cc}\\p{Cf}\\p{Default_Ignorable_Code_Point}\\u2800]";
const [plain, visible] = [new RegExp(`^${notControl}*$`, "u"), new RegExp(shown, "u")];

/** A regular expression for the characters of a text, for descriptions of the API; undefined if it may have all. */
export function textPattern(field: DescField): string | undefined {
  const kind = getOption(field, text);
  if (kind === Text.UNSPECIFIED) return undefined;
  return kind === Text.PLAIN ? plain.source : `^${notControl}*${shown}${notControl}*$`;
}

/** Whether somebody sees anything of a text. */
export function isVisible(value: string): boolean {
  return visible.test(value);
}

/** What is wrong with the characters of a text, in one sentence; undefined if nothing is. */
export function faultOfText(kind: Text, name: string, value: string): string | undefined {
  if (!plain.test(value)) return `${name} must have no control characters other than tabs and ends of lines.`;
  if (kind === Text.PLAIN || visible.test(value)) return undefined;
  return `${name} must have more than spaces and invisible characters.`;
}

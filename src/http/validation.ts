import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { Violation } from "@bufbuild/protovalidate";
import { createValidator } from "@bufbuild/protovalidate";
import { badInput, type StoaError } from "../errors.ts";

const patterns = new Map<string, RegExp>();

const validator = createValidator({
  // The patterns are the contract's own, not input: the platform's engine will do, and is faster than RE2 in JavaScript.
  regexMatch(pattern, text) {
    let compiled = patterns.get(pattern);
    if (compiled === undefined) {
      compiled = new RegExp(pattern, "u");
      patterns.set(pattern, compiled);
    }
    return compiled.test(text);
  },
});

/**
 * Checks a request against the field rules of the contract, and its strings for lone surrogates, which are not text.
 * @returns the fault in the lowest field number as `bad_input`, or undefined
 */
export function findViolation(desc: DescMessage, message: Message): StoaError | undefined {
  const malformed = findMalformedString(desc, message, "");
  if (malformed !== undefined)
    return badInput(malformed, `${malformed} is not well-formed text: it holds a lone surrogate.`);
  const result = validator.validate(desc, message);
  if (result.kind === "valid") return undefined;
  if (result.kind === "error") throw result.error;
  const [first] = result.violations.toSorted((a, b) => numberOf(a) - numberOf(b));
  const field = first && nameOf(first);
  return badInput(field, `${field}: ${first?.message}.`);
}

function numberOf({ field: [first] }: Violation): number {
  return first?.kind === "field" ? first.number : 0;
}

function nameOf({ field }: Violation): string {
  return field
    .flatMap((part) => (part.kind === "field" ? [part.name] : part.kind === "list_sub" ? [String(part.index)] : []))
    .join(".");
}

type StringCheck = { name: string; localName: string; find(value: never, at: string): string | undefined };
const checks = new WeakMap<DescMessage, StringCheck[]>();

function findMalformedString(desc: DescMessage, message: Message, at: string): string | undefined {
  let fields = checks.get(desc);
  if (fields === undefined) {
    fields = [];
    checks.set(desc, fields);
    fields.push(...compileChecks(desc));
  }
  for (const { name, localName, find } of fields) {
    const value = (message as Message & Record<string, unknown>)[localName];
    const fault = value === undefined ? undefined : find(value as never, at + name);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function compileChecks(desc: DescMessage): StringCheck[] {
  return desc.fields
    .toSorted((a, b) => a.number - b.number)
    .flatMap((field) => {
      const { name, localName, fieldKind } = field;
      if (field.oneof !== undefined) return [];
      if (fieldKind === "message") {
        return [{ name, localName, find: (value: never, at) => findMalformedString(field.message, value, `${at}.`) }];
      }
      // Every scalar that is a string at runtime is text.
      return [{ name, localName, find: findInValue }];
    });
}

function findInValue(value: unknown, at: string): string | undefined {
  if (typeof value === "string") return value.isWellFormed() ? undefined : at;
  if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) {
      const fault = findInValue(element, `${at}[${index}]`);
      if (fault !== undefined) return fault;
    }
  }
  return undefined;
}

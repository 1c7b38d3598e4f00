import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { Violation } from "@bufbuild/protovalidate";
import { createValidator } from "@bufbuild/protovalidate";
import { badInput } from "../errors.ts";

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

/**
 * Checks a request against the field rules of the contract.
 * @throws StoaError `bad_input` for the violation in the lowest field number
 */
export function checkRules(desc: DescMessage, message: Message): void {
  const result = validator.validate(desc, message);
  if (result.kind === "valid") return;
  if (result.kind === "error") throw result.error;
  const [first] = result.violations.toSorted((a, b) => numberOf(a) - numberOf(b));
  const field = first && nameOf(first);
  throw badInput(field, `${field}: ${first?.message}.`);
}

function numberOf({ field: [first] }: Violation): number {
  return first?.kind === "field" ? first.number : 0;
}

function nameOf({ field }: Violation): string {
  return field
    .flatMap((part) => (part.kind === "field" ? [part.name] : part.kind === "list_sub" ? [String(part.index)] : []))
    .join(".");
}

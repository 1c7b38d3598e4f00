import { type DescField, type DescMessage, getOption, type Message } from "@bufbuild/protobuf";
import type { Path } from "@bufbuild/protobuf/reflect";
import { createValidator } from "@bufbuild/protovalidate";
import { Text, text } from "../../gen/stoa/v1/options_pb.js";
import { badInput } from "../errors.ts";
import { faultOfText, ruleSentence } from "./field-words.ts";

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
  if (result.kind === "error") throw result.error;
  const violations = result.violations ?? [];
  const faults = [...violations.map(({ field }) => faultAt(field)), ...textFaults(desc, message)];
  const [first] = faults.toSorted((a, b) => a.number - b.number);
  if (first !== undefined) throw badInput(first.field, first.message);
}

interface Fault {
  /** The number of the request's field. */
  number: number;
  field: string;
  message: string;
}

function faultAt(path: Path): Fault {
  const field = path
    .flatMap((part) => (part.kind === "field" ? [part.name] : part.kind === "list_sub" ? [String(part.index)] : []))
    .join(".");
  const [first] = path;
  const last = path.findLast((part) => part.kind === "field");
  const message = last === undefined ? `${field} is not valid.` : ruleSentence(last, field);
  return { number: first?.kind === "field" ? first.number : 0, field, message };
}

const textFields = new Map<DescMessage, readonly DescField[]>();

function textFaults(desc: DescMessage, message: Message): Fault[] {
  let fields = textFields.get(desc);
  if (fields === undefined) {
    fields = desc.fields.filter((field) => getOption(field, text) !== Text.UNSPECIFIED);
    textFields.set(desc, fields);
  }
  return fields.flatMap((field) => {
    const value = (message as unknown as Record<string, string | undefined>)[field.localName];
    const fault = value === undefined ? undefined : faultOfText(field, field.name, value);
    return fault === undefined ? [] : [{ number: field.number, field: field.name, message: fault }];
  });
}

import type { DescEnum, DescField, DescMessage } from "@bufbuild/protobuf";
import { badInput } from "../errors.ts";

/** Parses messages of one type, in binary and in JSON. */
interface Parsers<Parsed> {
  getI(isBinary: boolean): { parse(bytes: Uint8Array): Parsed };
}

/**
 * Parsers that refuse names of enum values that the contract does not have. Connect ignores them, as it ignores unknown
 * fields, and the caller would get what it did not ask for.
 * @returns parsers that throw StoaError `bad_input` for such a name, and what the given ones throw
 */
export function refuseUnknownNames<All extends Parsers<unknown>>(desc: DescMessage, parsers: All): All {
  const fields = desc.fields.filter(({ fieldKind }) => fieldKind === "enum");
  if (fields.length === 0) return parsers;
  const json = parsers.getI(false);
  const checked = {
    ...json,
    parse(bytes: Uint8Array) {
      const message = json.parse(bytes);
      // The parser has found an object of valid types.
      const members = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
      for (const field of fields) checkName(field, members);
      return message;
    },
  };
  return { ...parsers, getI: (isBinary: boolean) => (isBinary ? parsers.getI(true) : checked) };
}

function checkName(field: DescField, members: Record<string, unknown>): void {
  const { values } = field.enum as DescEnum;
  for (const given of [members[field.jsonName], members[field.name]]) {
    if (typeof given !== "string" || values.some(({ name }) => name === given)) continue;
    const known = values.filter(({ number }) => number !== 0).map(({ name }) => name);
    throw badInput(field.name, `${field.name} must be ${known.join(", ")}.`);
  }
}

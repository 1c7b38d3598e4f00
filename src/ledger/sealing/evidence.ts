import { badInput } from "../../errors.ts";
import { canonicalize, type Json } from "../../receipt/canonical.ts";

/** The most bytes of evidence, in canonical form. */
const mostBytes = 64 * 1024;
/**
 * How deep values may stand within evidence. A gRPC client reads messages nested 100 deep, of which an object within a
 * google.protobuf.Struct takes three: a receipt that it could not read would end its stream there, for good.
 */
const mostLevels = 16;

/**
 * Refuses what callers supply where `jq -cS` (1.6) and RFC 8785 would write it differently, so that the `rebuild` command
 * of every receipt works: numbers that are no safe integers, U+007F, names that are not ASCII. Likewise what has no
 * canonical form at all, or is nested too deep to be read.
 * @throws StoaError `bad_input`; `field` is the path of the member at fault
 */
export function checkPlain(value: Json, path: string, level = 0): void {
  if (level > mostLevels) throw badInput(path, `${path} is nested deeper than ${mostLevels} levels.`);
  if (typeof value === "number" && !Number.isSafeInteger(value)) {
    throw badInput(path, `${path} must be an integer up to 2^53-1; write other numbers as strings.`);
  }
  if (typeof value === "string") {
    if (value.includes("\u007f")) throw badInput(path, `${path} holds the character U+007F.`);
    if (!value.isWellFormed()) throw badInput(path, `${path} holds a lone surrogate.`);
  }
  if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) checkPlain(element, `${path}[${index}]`, level + 1);
  } else if (typeof value === "object" && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      const at = `${path}.${name}`;
      // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII but U+007F.
      if (!/^[\u0000-\u007e]*$/.test(name)) throw badInput(at, `The name ${at} is not ASCII, or holds U+007F.`);
      checkPlain(member, at, level + 1);
    }
  }
}

/**
 * The evidence of a session: what the caller supplies beside `session` and `source`.
 * @throws StoaError `bad_input`; `field` is the path of the member at fault
 */
export function sessionEvidence(
  session: string,
  source: string,
  supplied: { [name: string]: Json },
): { [name: string]: Json } {
  for (const name of ["session", "source"]) {
    if (Object.hasOwn(supplied, name)) throw badInput(`evidence.${name}`, `evidence.${name} is set by the service.`);
  }
  checkPlain(supplied, "evidence");
  const evidence = { ...supplied, session, source };
  if (Buffer.byteLength(canonicalize(evidence)) > mostBytes) {
    throw badInput("evidence", "evidence is over 64 KiB in canonical form.");
  }
  return evidence;
}

import { badInput } from "../../errors.ts";
import { canonicalize, type Json } from "../../receipt/canonical.ts";

/** The most bytes of evidence, in canonical form. */
const maxBytes = 64 * 1024;
/**
 * How deep values may be nested in evidence. A gRPC client reads messages that are nested at most 100 deep, and an
 * object in a google.protobuf.Struct takes three of these levels. A client could never stream past a receipt that it
 * cannot read.
 */
const maxLevels = 16;

/**
 * Refuses values that `jq -cS` (1.6) and RFC 8785 write differently, so that the `rebuild` command of every receipt
 * works: numbers that are not safe integers, U+007F, names that are not ASCII. It also refuses values that have no
 * canonical form, and values that are nested too deep.
 * @throws StoaError `bad_input`; `field` is the path of the bad member
 */
export function checkPlain(value: Json, path: string, level = 0): void {
  if (level > maxLevels) throw badInput(path, `${path} is nested deeper than ${maxLevels} levels.`);
  if (typeof value === "number" && !Number.isSafeInteger(value)) {
    throw badInput(path, `${path} must be an integer up to 2^53-1; write other numbers as strings.`);
  }
  if (typeof value === "string") {
    if (value.includes("\u007f")) throw badInput(path, `${path} contains the character U+007F.`);
    if (!value.isWellFormed()) throw badInput(path, `${path} contains a lone surrogate.`);
  }
  if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) checkPlain(element, `${path}[${index}]`, level + 1);
  } else if (typeof value === "object" && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      const at = `${path}.${name}`;
      // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII but U+007F.
      if (!/^[\u0000-\u007e]*$/.test(name)) throw badInput(at, `The name ${at} is not ASCII, or contains U+007F.`);
      checkPlain(member, at, level + 1);
    }
  }
}

/**
 * Makes the evidence of a session from the caller's evidence, `session` and `source`.
 * @throws StoaError `bad_input`; `field` is the path of the bad member
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
  if (Buffer.byteLength(canonicalize(evidence)) > maxBytes) {
    throw badInput("evidence", "evidence is over 64 KiB in canonical form.");
  }
  return evidence;
}

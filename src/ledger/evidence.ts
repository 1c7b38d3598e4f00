import { badInput } from "../errors.ts";
import { CanonicalError, canonicalize, type Json } from "../receipt/canonical.ts";

/** The most bytes of evidence, in canonical form. */
const mostBytes = 64 * 1024;

/**
 * Refuses what callers supply where `jq -cS` (1.6) and RFC 8785 would write it differently, so that the `rebuild` command
 * of every receipt works: numbers that are no safe integers, U+007F, names that are not ASCII.
 * @throws StoaError `bad_input`; `field` is the path of the member at fault
 */
export function checkPlain(value: Json, path: string): void {
  if (typeof value === "number" && !Number.isSafeInteger(value)) {
    throw badInput(path, `${path} must be an integer up to 2^53-1; write other numbers as strings.`);
  }
  if (typeof value === "string" && value.includes("\u007f"))
    throw badInput(path, `${path} holds the character U+007F.`);
  if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) checkPlain(element, `${path}[${index}]`);
  } else if (typeof value === "object" && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      const at = `${path}.${name}`;
      // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII but U+007F.
      if (!/^[\u0000-\u007e]*$/.test(name)) throw badInput(at, `The name ${at} is not ASCII.`);
      checkPlain(member, at);
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
  let canonical: string;
  try {
    canonical = canonicalize(evidence);
  } catch (error) {
    if (!(error instanceof CanonicalError)) throw error;
    throw badInput(`evidence.${error.path}`, `evidence.${error.path}: ${error.message}.`);
  }
  if (Buffer.byteLength(canonical) > mostBytes)
    throw badInput("evidence", "evidence is over 64 KiB in canonical form.");
  return evidence;
}

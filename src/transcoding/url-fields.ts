import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { Binding } from "../contract/bindings.ts";
import { type Captured, decodeCaptured, PathEncodingError } from "../contract/path-template.ts";
import { badInput, notFound } from "../errors.ts";
import { decodeMessage } from "./decode.ts";
import { type Input, putText, UrlText } from "./input.ts";

/** Splits the raw target of a request line, which may be an absolute URL (RFC 9112, section 3.2.2). */
export function splitTarget(target: string): { path: string; query: string } {
  const [, path = "", query = ""] = /^(?:https?:\/\/[^/?#]*)?([^?#]*)(?:\?([^#]*))?/i.exec(target) as RegExpExecArray;
  return { path, query };
}

/** A parameter of a query: its decoded name, and its value, still percent-encoded. */
export type QueryParameter = readonly [name: string, rawValue: string];

/** The fields of a message in a URL. All values are still percent-encoded, so their faults are found here. */
export interface UrlFields {
  /** The raw values of variables of the binding's path. */
  path: Readonly<Record<string, string | undefined>>;
  /** The parameters in the order of the URL. Only a list may have several values, those in the path included. */
  query: readonly QueryParameter[];
}

/**
 * Reads a message from the fields of a URL, as `readRequest` reads it from a request.
 * @throws StoaError `bad_input` that names the field at fault; `not_found` if a variable of the path is empty
 */
export function readUrlFields<Desc extends DescMessage>(
  desc: Desc,
  { path: { fields } }: Binding,
  { path, query }: UrlFields,
): MessageShape<Desc> {
  const given = new Map<string, string[]>();
  for (const field of fields) {
    const raw = path[field.join(".")];
    if (raw === undefined) continue;
    if (raw === "") throw notFound("There is nothing at this address.");
    given.set(field.join("."), [decodeVariable({ field, segments: [raw], isSingle: true })]);
  }
  for (const [name, raw] of query) {
    const value = decodeQuery(raw);
    if (value === undefined) throw badInput(name, `The percent-encoding of ${name} is broken.`);
    const known = given.get(name);
    if (known === undefined) given.set(name, [value]);
    else known.push(value);
  }
  const input: Input = new Map();
  for (const [name, values] of given) putText(input, name.split("."), new UrlText(values));
  return decodeMessage(desc, input);
}

/** The decoded value of a path variable. @throws StoaError `bad_input` */
export function decodeVariable(captured: Captured): string {
  try {
    return decodeCaptured(captured);
  } catch (error) {
    if (error instanceof PathEncodingError) throw badInput(error.field, `In the path, ${error.message}.`);
    throw error;
  }
}

/** Decodes a name or a value of a query. @returns undefined if its percent-encoding is broken */
export function decodeQuery(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

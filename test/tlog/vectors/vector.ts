// What FORMAT.md says about vectors.
import type { TlogFault } from "../../../src/tlog/error.ts";

export type Outcome = { ok: true; [member: string]: unknown } | { ok: false; fault: TlogFault };

export interface LogVector {
  description: string;
  check: string;
  input: { [member: string]: unknown };
  expect: Outcome;
}

export type LogVectors = { [name: string]: LogVector };

/** Makes vectors of one check. */
export const vectorsOf = (check: string) => ({
  good: (description: string, input: LogVector["input"], result: object = {}): LogVector => ({
    description,
    check,
    input,
    expect: { ok: true, ...result },
  }),
  bad: (fault: TlogFault, description: string, input: LogVector["input"]): LogVector => ({
    description,
    check,
    input,
    expect: { ok: false, fault },
  }),
});

export const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
export const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

/** Replaces a part of a text, which must be there. */
export function replaced(text: string, from: string | RegExp, to: string): string {
  const result = text.replace(from, () => to);
  if (result === text) throw new Error(`there is no ${from} in ${text}`);
  return result;
}

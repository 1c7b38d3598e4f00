// What FORMAT.md says about vectors.
import type { TlogFault } from "../../src/tlog/error.ts";

export type Outcome = { ok: true; [member: string]: unknown } | { ok: false; fault: TlogFault };

export interface LogVector {
  description: string;
  check: string;
  input: { [member: string]: unknown };
  expect: Outcome;
}

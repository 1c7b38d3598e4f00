import { expect } from "vitest";
import type { Guarded } from "../ledger/head-guard/support.ts";
import { urlOf } from "../support/process.ts";
import { operateWith } from "./support.ts";

export const recover = ({ db, dataDir }: Guarded, ...args: string[]) =>
  operateWith({ STOA_DATABASE_URL: urlOf(db.config), STOA_DATA_DIR: dataDir }, ["recover", ...args]);

/** The arguments that the command itself names. */
export async function proposal(ledger: Guarded): Promise<string[]> {
  const { status, out } = await recover(ledger);
  expect(status).toBe(1);
  const [, head] = /recover --abandon (\S+) --note/.exec(out.at(-1) as string) ?? [];
  return ["--abandon", head as string, "--note", "The disk of the database died."];
}

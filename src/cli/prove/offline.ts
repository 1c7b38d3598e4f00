import { createReadStream } from "node:fs";
import { logFunctions } from "../../client/signed-log/functions.ts";
import type { Contents } from "../../tlog/entries/content.ts";
import { TlogError } from "../../tlog/error.ts";
import type { NoteKey } from "../../tlog/notes/key.ts";
import { maxPolicyBytes, parsePolicy } from "../../tlog/notes/policy.ts";
import { committedItem } from "../../tlog/proofs/expected-item.ts";
import { maxProofBytes, parseProof } from "../../tlog/proofs/tlog-proof.ts";
import { type VerifiedItem, verifyItem } from "../../tlog/proofs/verify-item.ts";
import { exitStatus } from "../command.ts";
import { good, type Outcome, outcomeOf } from "../outcome.ts";
import type { Output } from "../output.ts";
import { UsageError } from "../usage.ts";
import type { StoredProofs } from "./arguments.ts";
import { reportProof } from "./report.ts";

interface Verified {
  file: string;
  outcome: Outcome;
  proved?: VerifiedItem | undefined;
}

/**
 * Verifies stored proofs, and reports each to the output.
 * @returns the exit status
 * @throws UsageError if a file cannot be read, or the policy is malformed
 */
export async function proveOffline(
  { files, policy }: StoredProofs,
  output: Output,
  signal: AbortSignal,
): Promise<number> {
  const keys = await readPolicy(policy);
  const all: Verified[] = [];
  for (const file of files) all.push(await verifyFile(file, keys, signal));
  for (const { file, outcome, proved } of all) {
    reportProof(output, { ...outcome, of: { file }, proved, author: proved && findAuthor(proved, all) });
  }
  return all.some(({ outcome }) => !outcome.ok) ? exitStatus.found : exitStatus.done;
}

async function verifyFile(file: string, keys: readonly NoteKey[], signal: AbortSignal): Promise<Verified> {
  const bytes = await readShort(file, maxProofBytes);
  try {
    const { index } = parseProof(bytes);
    return { file, outcome: good, proved: await verifyItem(bytes, { kind: "entry", index }, keys, logFunctions) };
  } catch (error) {
    return { file, outcome: outcomeOf(error, signal) };
  }
}

/** The name of the author of a post or comment, if another file proves it. */
function findAuthor({ content, checkpoint }: VerifiedItem, all: readonly Verified[]) {
  if (content === undefined || !("body" in content)) return undefined;
  for (const { proved } of all) {
    if (proved?.content === undefined || proved.checkpoint.origin !== checkpoint.origin) continue;
    const item = committedItem(proved.entry);
    if (item?.kind !== "agent" || item.id !== content.agent) continue;
    return { id: item.id, name: (proved.content as Contents["agent"]).name };
  }
  return undefined;
}

async function readPolicy(file: string): Promise<NoteKey[]> {
  try {
    const { logs } = await parsePolicy(await readShort(file, maxPolicyBytes), logFunctions.sha256);
    return logs.map(({ key }) => key);
  } catch (error) {
    if (error instanceof TlogError) throw new UsageError(`${file} is not a policy: ${error.message}`);
    throw error;
  }
}

/** Reads a file that should be short. Of a longer one, it returns one byte more than `maxBytes`. @throws UsageError */
async function readShort(file: string, maxBytes: number): Promise<Uint8Array> {
  const parts: Buffer[] = [];
  try {
    // `end` is the place of the last byte.
    for await (const part of createReadStream(file, { end: maxBytes })) parts.push(part);
    return Buffer.concat(parts);
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}`);
  }
}

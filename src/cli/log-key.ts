import { logFunctions } from "../client/signed-log/functions.ts";
import type { KnownLog } from "../client/signed-log/signed-log.ts";
import { toUtf8 } from "../tlog/encoding.ts";
import { TlogError } from "../tlog/error.ts";
import { openCheckpoint } from "../tlog/notes/checkpoint.ts";
import { formatVkey, type NoteKey, parseVkey } from "../tlog/notes/key.ts";
import { type RememberedLog, StateError } from "./state.ts";
import { UsageError } from "./usage.ts";

/** Parses the argument of `--log-key`; undefined if it was not given. @throws UsageError */
export async function parseLogKey(text: string | undefined): Promise<NoteKey | undefined> {
  if (text === undefined) return undefined;
  try {
    return await parseVkey(text, logFunctions.sha256);
  } catch (error) {
    if (error instanceof TlogError) throw new UsageError(`--log-key cannot be used: ${error.message}`);
    throw error;
  }
}

/**
 * What is known of a log: the key that the user gave, and what the state file remembers.
 * @throws UsageError if these are two keys; StateError if the state file is damaged
 */
export async function knownLog(key: NoteKey | undefined, remembered: RememberedLog | undefined): Promise<KnownLog> {
  if (remembered === undefined) return { key };
  if (key !== undefined && formatVkey(key) !== remembered.vkey) {
    throw new UsageError(
      "--log-key is not the key that the state file remembers; move that away if the log began anew",
    );
  }
  try {
    const known = await parseVkey(remembered.vkey, logFunctions.sha256);
    const note = toUtf8(remembered.checkpoint);
    const { checkpoint } = await openCheckpoint(note, [known], logFunctions.verifyEd25519);
    return { key: known, tree: checkpoint };
  } catch (error) {
    if (error instanceof TlogError) throw new StateError(`the state file remembers a bad log: ${error.message}`);
    throw error;
  }
}

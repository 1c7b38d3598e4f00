import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { link, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readPrivateFile } from "../process/read-file.ts";
import { syncFolder, writeWhole } from "../process/whole-file.ts";
import { TlogError } from "../tlog/error.ts";
import { keyBytes } from "../tlog/notes/key.ts";
import { formatSignerKey, makeSignerKey, parseSignerKey, type SignerKey } from "../tlog/notes/signer-key.ts";
import { publicKeyOf, sha256 } from "./crypto.ts";

const functions = { sha256, publicKeyOf };

/** A new key of a log. @throws TlogError `bad_key` for a name that no key can have */
export function makeKey(origin: string): Promise<SignerKey> {
  return makeSignerKey(origin, randomBytes(keyBytes), functions);
}

/**
 * The key of a replica; undefined if it has none.
 * @param folder the log folder, where the key is in the file `key` by default
 * @param keyText the content of the file that STOA_LOG_KEY_FILE names, if it is set
 * @throws Error with one line, which does not hold the key
 */
export async function readKey(folder: string, keyText: string | undefined): Promise<SignerKey | undefined> {
  const path = join(folder, "key");
  if (keyText === undefined && !existsSync(path)) return undefined;
  const subject = keyText === undefined ? `STOA_LOG_KEY_FILE is ${path} by default and` : "STOA_LOG_KEY_FILE";
  try {
    return await parseSignerKey(keyText ?? readPrivateFile(path), functions);
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`${subject} ${error instanceof TlogError ? `does not hold a key of a log: ${message}` : message}.`);
  }
}

/**
 * Writes a key to a file that only its owner may read. An existing file stays as it is.
 * @param owner the account that the file belongs to; by default that of this process
 * @throws Error of the file system, with the code EEXIST if there is a file
 */
export async function writeKeyFile(path: string, key: SignerKey, owner?: { uid: number; gid: number }): Promise<void> {
  // A rename would replace a file that somebody else has just made, and a lost key ends its log.
  const aside = `${path}.${randomBytes(4).toString("hex")}`;
  try {
    await writeWhole(aside, (write) => write(Buffer.from(`${formatSignerKey(key)}\n`)), owner);
    await link(aside, path);
    await syncFolder(dirname(path));
  } finally {
    await rm(aside, { force: true });
  }
}

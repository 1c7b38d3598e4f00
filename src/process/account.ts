// Nothing here needs root once the port is open. A process that root started hands its work to another account.
import { readFileSync, statSync } from "node:fs";

export interface Account {
  readonly uid: number;
  readonly gid: number;
  /** For messages. */
  readonly name: string;
}

/** By preference: our own, made by the set-up; that of the database's package; one that others may share. */
const preferred = ["stoa", "mysql", "nobody"];
/** What Linux shows for an account that it does not know; it owns nothing. */
const overflow: Account = { uid: 65_534, gid: 65_534, name: "65534" };

/**
 * The account that takes over what root started; undefined when this process is not root.
 * @param folders whose owner is taken if it is not root: what belongs to an ordinary account stays its own
 */
export function unprivilegedAccount(folders: readonly string[]): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const accounts = readAccounts();
  for (const folder of folders) {
    const { uid, gid } = statSync(folder, { throwIfNoEntry: false }) ?? overflow;
    if (uid !== 0 && uid !== overflow.uid) {
      return accounts.find((account) => account.uid === uid) ?? { uid, gid, name: String(uid) };
    }
  }
  const known = preferred.flatMap((name) => accounts.find((account) => account.name === name) ?? []);
  return known[0] ?? overflow;
}

/** The machine's local accounts but root, from /etc/passwd; see passwd(5). */
function readAccounts(): Account[] {
  let text = "";
  try {
    text = readFileSync("/etc/passwd", "utf8");
  } catch {
    // A container may have none.
  }
  return text.split("\n").flatMap((line) => {
    const [name = "", , uid = "", gid = ""] = line.split(":");
    if (!/^\d+$/.test(uid) || !/^\d+$/.test(gid) || Number(uid) === 0) return [];
    return [{ uid: Number(uid), gid: Number(gid), name }];
  });
}

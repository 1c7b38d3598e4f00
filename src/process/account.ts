// Chooses the account that does the work when root starts the service.
import { readFileSync, statSync } from "node:fs";

export interface Account {
  readonly uid: number;
  readonly gid: number;
  /** For messages to the operator. */
  readonly name: string;
}

/** In order of preference: the account of the set-up, that of the database package, and one that others may share. */
const preferred = ["stoa", "mysql", "nobody"];
/** The account that Linux shows for files whose owner is unknown in this container. */
const overflow: Account = { uid: 65_534, gid: 65_534, name: "65534" };

/**
 * The account that takes over from root; undefined when this process is not root.
 * @param folders the first one that an ordinary account owns decides: its owner is the account
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

/** The machine's local accounts except root, from /etc/passwd; see passwd(5). */
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

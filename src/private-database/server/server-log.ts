// The log file of the database server, and its lines for the error message when a start fails.
import { closeSync, constants, existsSync, openSync, readFileSync, renameSync, statSync } from "node:fs";

const keepBytes = 4 * 1024 * 1024;
const shownLines = 6;
/** What a server says when another one has locked its data: MariaDB's Aria once, InnoDB every second. */
const aria = /Can't lock aria control file/;
const innodb = /Unable to lock \S*ibdata1/;

export interface ServerLog {
  /** For `stdio` of a child process; close it after the spawn. */
  readonly fd: number;
  /** The last lines written since it was opened, for an error message. */
  lastLines(): string;
  /** Whether the last lines say that another server has locked the data. */
  saysLocked(): boolean;
  close(): void;
}

/** Opens the log for appending. A log that has grown large is renamed to `….1` first. */
export function openServerLog(path: string): ServerLog {
  if (existsSync(path) && statSync(path).size > keepBytes) renameSync(path, `${path}.1`);
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;
  const fd = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  const start = statSync(path).size;
  const text = () => readFileSync(path).subarray(start).toString("utf8");
  const lines = () =>
    text()
      .split("\n")
      .filter((line) => line.trim() !== "");
  const saysLocked = () => {
    const last = lines().slice(-3);
    return aria.test(last.at(-1) ?? "") || (last.length === 3 && last.every((line) => innodb.test(line)));
  };
  return { fd, lastLines: () => describe(path, lines()), saysLocked, close: () => closeSync(fd) };
}

function describe(path: string, lines: string[]): string {
  // The errors; if there are none, the warnings; if there are none either, everything.
  const kinds = [/\bERROR\b/, /^(?!.*\[(?:Note|System)\])/];
  const chosen = kinds.map((kind) => lines.filter((line) => kind.test(line))).find((found) => found.length > 0);
  const shown = (chosen ?? lines).slice(-shownLines);
  if (shown.length === 0) return `see ${path}`;
  // Ubuntu's AppArmor profile allows mysqld only its own folders. The server's message does not mention that.
  const confined = /permission denied|errno:? 13\b/i.test(lines.join()) && existsSync("/sys/kernel/security/apparmor");
  const hint = confined ? ["(AppArmor may confine this server to its system folders: then set STOA_DATABASE_URL)"] : [];
  return [`${path} ends with:`, ...shown, ...hint].join("\n  ");
}

// Runs the client programs of the engines: mariadb-dump, mariadb, mysqldump, mysql.
import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { getCACertificates } from "node:tls";
import { type Flavour, findClient } from "../../process/programs.mjs";
import type { DatabaseAddress } from "../database/pool/socket.ts";

export type NamedDatabase = DatabaseAddress & { database: string };

export interface ClientProgram {
  readonly command: string;
  readonly flavour: Flavour;
}

export interface RunningProgram {
  readonly input: Writable;
  readonly output: Readable;
  /**
   * Resolves when the program has succeeded.
   * @throws Error with what the program wrote to stderr, and `errno` if that has an error of the server; the signal's reason
   */
  readonly done: Promise<void>;
  /** Ends the program if it still runs. */
  kill(): void;
}

const names = { mariadb: { dump: "mariadb-dump", sql: "mariadb" }, mysql: { dump: "mysqldump", sql: "mysql" } };
const advice = {
  mariadb:
    "the client of MariaDB (Debian, Ubuntu: apt-get install mariadb-client; Fedora: dnf install mariadb; Alpine: apk add" +
    " mariadb-client; macOS: brew install mariadb)",
  mysql:
    "the client of MySQL (Ubuntu: apt-get install mysql-client; Fedora: dnf install mysql; macOS: brew install mysql-client)",
};
/** The first descriptor after stdin, stdout and stderr. */
const firstFile = 3;
const escapes: Record<string, string> = { "\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/**
 * Finds the program that dumps a database (`dump`) or runs statements (`sql`).
 * @param folders where to look; by default on the PATH and in the usual folders
 * @throws Error with one line that says what to install
 */
export function clientProgram(purpose: "dump" | "sql", flavour: Flavour, folders?: string[]): ClientProgram {
  const command = findClient(purpose, flavour, folders);
  if (command !== undefined) return { command, flavour };
  throw new Error(`The program ${names[flavour][purpose]} is not installed here. Install ${advice[flavour]}.`);
}

/**
 * Runs a program on the server of an address. The program reads the account, the password and the keys from files that it
 * inherits and that are already deleted. So they are not in its command line or environment, and a killed program leaves
 * nothing of them behind.
 */
export function runClient(
  { command, flavour }: ClientProgram,
  args: readonly string[],
  address: DatabaseAddress,
  signal: AbortSignal,
): RunningProgram {
  const files = optionFiles(flavour, address).map(unnamedFile);
  const stdio: StdioOptions = ["pipe", "pipe", "pipe", ...files];
  // The user's settings do not apply: neither files in the home folder nor variables such as MYSQL_HOST.
  const env = { PATH: process.env.PATH, LC_ALL: "C" };
  const child = spawn(command, [`--defaults-file=${pathOf(0)}`, ...args], { stdio, env });
  for (const file of files) closeSync(file);
  const kill = () => void child.kill("SIGKILL");
  signal.addEventListener("abort", kill, { once: true });
  if (signal.aborted) kill();
  const done = ending(child, command, signal).finally(() => signal.removeEventListener("abort", kill));
  // If the caller fails first, nobody awaits `done`: its rejection must not end this process.
  done.catch(() => {});
  // When a program ends early, `done` says why. The error of writing its input adds nothing.
  child.stdin?.on("error", () => {});
  return { input: child.stdin as Writable, output: child.stdout as Readable, done, kill };
}

async function ending(child: ChildProcess, command: string, signal: AbortSignal): Promise<void> {
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text) => {
    said = (said + text).slice(-4096);
  });
  const [code, name] = await once(child, "close").catch((error: Error) => [undefined, error.message]);
  signal.throwIfAborted();
  if (code === 0) return;
  // mariadb prints the statement before the error. It is left out, because it may have private data.
  const [error, errno] = /\bERROR (\d+) .*/s.exec(said) ?? [said];
  const lines = error.split("\n").filter((line) => line.trim() !== "" && !line.includes("[Warning]"));
  const how = lines.length > 0 ? lines.join(" ") : `it ended with ${name ?? `exit code ${code}`}`;
  const own = `${basename(command)}: `;
  throw Object.assign(new Error(how.startsWith(own) ? how : own + how), { errno: Number(errno) || undefined });
}

/** The texts of the options file and of the PEM files that it names. */
function optionFiles(flavour: Flavour, address: DatabaseAddress): string[] {
  const { host = "localhost", port = 3306, socketPath, user, password, ssl } = address;
  const pems: string[] = [];
  const lines = ["[client]"];
  const add = (name: string, value: string | undefined) => {
    // See https://dev.mysql.com/doc/refman/8.4/en/option-files.html for the escapes.
    if (value !== undefined)
      lines.push(`${name}="${value.replace(/[\\"\n\r\t]/g, (found) => escapes[found] as string)}"`);
  };
  const addFile = (name: string, pem: string | undefined) => {
    if (pem !== undefined) add(name, pathOf(pems.push(pem)));
  };
  add("user", user);
  add("password", password);
  add("socket", socketPath);
  if (socketPath === undefined) add("host", host);
  lines.push(`port=${port}`, `protocol=${socketPath === undefined ? "TCP" : "SOCKET"}`);
  if (ssl === undefined) {
    // Without TLS, mysql encrypts the password with the server's public key, as the driver does.
    lines.push(...(flavour === "mysql" ? ["ssl-mode=DISABLED", "get-server-public-key"] : ["skip-ssl"]));
  } else {
    lines.push(...(flavour === "mysql" ? ["ssl-mode=VERIFY_IDENTITY"] : ["ssl", "ssl-verify-server-cert"]));
    addFile("ssl-ca", ssl.ca ?? getCACertificates("default").join("\n"));
    addFile("ssl-cert", ssl.cert);
    addFile("ssl-key", ssl.key);
  }
  return [`${lines.join("\n")}\n`, ...pems];
}

/** The path by which the program opens the file with this index. */
function pathOf(index: number): string {
  return `/dev/fd/${firstFile + index}`;
}

/** @returns the descriptor of a file with this text that is already deleted */
function unnamedFile(text: string): number {
  const folder = mkdtempSync(join(tmpdir(), "stoa-client-"));
  let file: number;
  try {
    file = openSync(join(folder, "file"), "wx+", 0o600);
  } finally {
    rmSync(folder, { recursive: true });
  }
  // The text may hold a password, so the file has no name any more, whenever this process may be killed. Writing at a
  // position leaves the descriptor's own at 0, from which the program reads on some systems.
  writeSync(file, text, 0);
  return file;
}

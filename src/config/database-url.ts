import { readPem } from "./files.ts";
import { hostInUrl } from "./values.ts";

export interface DatabaseConfig {
  host?: string;
  port?: number;
  socketPath?: string;
  user: string;
  password?: string;
  database: string;
  /** TLS; absent means none. */
  ssl?: DatabaseTls;
  /** Whether reads on a cluster see every write that any of its servers has acknowledged; absent means yes. */
  syncReads?: boolean;
}

/** The server's certificate, and its host name in it, are always verified. */
export interface DatabaseTls {
  /** The trusted certificate authorities (PEM); absent means those that Node.js trusts. */
  ca?: string;
  /** The client certificate and its private key (PEM). */
  cert?: string;
  key?: string;
  rejectUnauthorized: true;
  verifyIdentity: true;
}

const example = "must look like mysql://user:password@host:3306/database";
const encodings =
  "percent-encode it in the user, the password and paths (@ is %40, / is %2F, # is %23, ? is %3F, % is %25)";
const parameters = ["socket", "ssl", "ssl_ca", "ssl_cert", "ssl_key"];

/**
 * Reads the address of a database.
 * @throws Error whose message follows the name of the setting, and holds no part of the password
 */
export function parseDatabaseUrl(text: string): DatabaseConfig {
  checkCharacters(text);
  const url = parseUrl(text);
  const user = decode(url.username);
  if (user === "" && url.password !== "") throw new Error(`${example}; it has a password without a user`);
  const database = readName(url.pathname);
  const given = readParameters(url.searchParams);
  const socketPath = given.get("socket");
  const ssl = readTls(given);
  if (socketPath !== undefined && ssl !== undefined) throw new Error("has a socket and TLS; a socket needs no TLS");
  return {
    ...(socketPath === undefined ? hostOf(url) : { socketPath }),
    user: user || "root",
    ...(url.password === "" ? {} : { password: decode(url.password) }),
    database,
    ...(ssl === undefined ? {} : { ssl }),
  };
}

/** Describes a database without its password: `user@host:3306/database (TLS)`. */
export function describeDatabase({ host, port, socketPath, user, database, ssl }: DatabaseConfig): string {
  return `${user}@${socketPath ?? `${hostInUrl(host ?? "")}:${port}`}/${database}${ssl ? " (TLS)" : ""}`;
}

/** Refuses characters that a URL parser would drop, or take for separators by mistake. @throws Error */
function checkCharacters(text: string): void {
  if (!text.startsWith("mysql://")) throw new Error(`must begin with mysql://, also for MariaDB; it ${example}`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a URL parser drops some of them silently.
  if (/[\u0000-\u0020\u007f]/.test(text))
    throw new Error("contains a space or a control character; percent-encode it (a space is %20)");
  // An @ after the first of these characters shows that one in the user, the password or a path is not percent-encoded.
  if (/^mysql:\/\/[^/?#@]*[/?#@].*@/s.test(text)) throw new Error(`has an @, /, # or ? too many: ${encodings}`);
  if (text.includes("#")) throw new Error(`has a #: ${encodings}`);
  const [, hosts = ""] = /^mysql:\/\/(?:[^/?#@]*@)?([^/?#@]*)/.exec(text) ?? [];
  if (hosts.includes(",")) {
    throw new Error(
      "names several hosts. Name one: that of a proxy or router that chooses among the servers, as docs/operating.md describes" +
        " under Clusters",
    );
  }
}

/** @throws Error */
function readName(pathname: string): string {
  const name = decode(pathname.slice(1));
  if (name === "") throw new Error(`${example}; the name of the database is missing`);
  if (/^[A-Za-z0-9_$-]{1,64}$/.test(name)) return name;
  throw new Error("has a name of the database that is not 1 to 64 letters, digits, _, - and $");
}

/** Whether the database is on another host and the connection has no TLS. */
export function isUnprotected({ host, socketPath, ssl }: DatabaseConfig): boolean {
  if (socketPath !== undefined || ssl !== undefined || host === undefined) return false;
  return host !== "localhost" && host !== "::1" && !/^127(?:\.\d{1,3}){3}$/.test(host);
}

/** @throws Error */
function parseUrl(text: string): URL {
  if (URL.canParse(text)) return new URL(text);
  throw new Error(`${example}; its host or its port is invalid`);
}

/** @throws Error */
function hostOf(url: URL): { host: string; port: number } {
  if (url.port === "0") throw new Error("has the port 0; the default is 3306");
  return { host: decode(url.hostname).replace(/^\[(.*)\]$/, "$1") || "127.0.0.1", port: Number(url.port || 3306) };
}

function readParameters(search: URLSearchParams): Map<string, string> {
  const given = new Map<string, string>();
  for (const [name, value] of search) {
    if (!parameters.includes(name)) {
      const shown = /^[A-Za-z_-]{1,40}$/.test(name) ? ` ${name}` : "";
      throw new Error(`has an unknown parameter${shown}; the known ones are ${parameters.join(", ")}`);
    }
    if (given.has(name)) throw new Error(`has the parameter ${name} twice`);
    if (value === "") throw new Error(`has the parameter ${name} without a value`);
    given.set(name, value);
  }
  return given;
}

function readTls(given: ReadonlyMap<string, string>): DatabaseTls | undefined {
  const ssl = given.get("ssl");
  if (ssl !== undefined && ssl !== "true" && ssl !== "false")
    throw new Error("has a parameter ssl that is not true or false");
  const texts = new Map<"ca" | "cert" | "key", string>();
  for (const name of ["ca", "cert", "key"] as const) {
    const path = given.get(`ssl_${name}`);
    if (path !== undefined) texts.set(name, readParameterFile(`ssl_${name}`, path));
  }
  if (ssl === "false" && texts.size > 0) throw new Error("has ssl=false beside other parameters of TLS");
  if (texts.has("cert") !== texts.has("key")) throw new Error("has one of ssl_cert and ssl_key; they go together");
  if (ssl !== "true" && texts.size === 0) return undefined;
  return { ...Object.fromEntries(texts), rejectUnauthorized: true, verifyIdentity: true };
}

function readParameterFile(name: string, path: string): string {
  try {
    return readPem(path);
  } catch (error) {
    throw new Error(`has a parameter ${name} that ${(error as Error).message}`);
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error(`has a % that begins no percent-encoding: ${encodings}`);
  }
}

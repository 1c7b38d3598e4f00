import { readPem } from "./pem.ts";

export interface DatabaseConfig {
  host?: string;
  port?: number;
  socketPath?: string;
  user: string;
  password?: string;
  database: string;
  /** TLS; absent means none. */
  ssl?: DatabaseTls;
  /** Whether reads wait, on a cluster, for what its other servers have acknowledged; absent means yes. */
  syncReads?: boolean;
}

/** The server's certificate and its name are always verified. */
export interface DatabaseTls {
  /** PEM text of the authorities that are trusted; absent means those that Node.js trusts. */
  ca?: string;
  /** PEM texts by which the service shows who it is. */
  cert?: string;
  key?: string;
  rejectUnauthorized: true;
  verifyIdentity: true;
}

const example = "must look like mysql://user:password@host:3306/database";
const parameters = ["socket", "ssl", "ssl_ca", "ssl_cert", "ssl_key"];

/** Reads the address of a database. @throws Error whose message follows the name of the setting */
export function parseDatabaseUrl(text: string): DatabaseConfig {
  if (/^mysql:\/\/(?:[^/?#@]*@)?[^/?#@]*,/.test(text)) {
    throw new Error(
      "names several hosts. Name one: that of a proxy or router that chooses among the servers, as docs/operating.md describes" +
        " under Clusters",
    );
  }
  const url = parseUrl(text);
  const database = decode(url.pathname.slice(1));
  if (!/^[A-Za-z0-9_$-]{1,64}$/.test(database))
    throw new Error(`${example}; the name of the database is missing or invalid`);
  const given = readParameters(url.searchParams);
  const socketPath = given.get("socket");
  const ssl = readTls(given);
  if (socketPath !== undefined && ssl !== undefined) throw new Error("has a socket and TLS; a socket needs no TLS");
  return {
    ...(socketPath === undefined ? hostOf(url) : { socketPath }),
    user: decode(url.username) || "root",
    ...(url.password === "" ? {} : { password: decode(url.password) }),
    database,
    ...(ssl === undefined ? {} : { ssl }),
  };
}

/** Whether the database is on another host and the connection has no TLS. */
export function isUnprotected({ host, socketPath, ssl }: DatabaseConfig): boolean {
  if (socketPath !== undefined || ssl !== undefined || host === undefined) return false;
  return host !== "localhost" && host !== "::1" && !/^127(?:\.\d{1,3}){3}$/.test(host);
}

/** @throws Error */
function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "mysql:" || url.hash !== "") throw new Error(example);
  return url;
}

function hostOf(url: URL): { host: string; port: number } {
  return { host: decode(url.hostname).replace(/^\[(.*)\]$/, "$1") || "127.0.0.1", port: Number(url.port || 3306) };
}

function readParameters(search: URLSearchParams): Map<string, string> {
  const given = new Map<string, string>();
  for (const [name, value] of search) {
    if (!parameters.includes(name)) {
      throw new Error(`has an unknown parameter ${JSON.stringify(name)}; the known ones are ${parameters.join(", ")}`);
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
    throw new Error(`${example}; its percent-encoding is broken`);
  }
}

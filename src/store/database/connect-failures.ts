import { StoaError } from "../../errors.ts";
import { findServerError } from "./server-errors.ts";

/** Why a database cannot be used. */
export interface ConnectFailure {
  /** A few words that may be published: they name no account. Only a failure of TLS may name the host, in Node's message. */
  reason: string;
  /** What the operator can do; undefined where the reason says enough. */
  remedy?: string;
  /** Whether waiting may help, as while the server is starting. */
  passes?: true;
}

const address = "Correct the host and the port, or start the server";
const accounts = "the account must be allowed to come from this host, as 'user'@'%' is";

const known: readonly [failure: ConnectFailure, ...codes: (number | string)[]][] = [
  [{ reason: "nothing listens there", remedy: address, passes: true }, "ECONNREFUSED"],
  [{ reason: "its host name is unknown", remedy: address, passes: true }, "ENOTFOUND"],
  [{ reason: "its host name cannot be looked up now", passes: true }, "EAI_AGAIN"],
  [
    { reason: "no MySQL or MariaDB server answers there", remedy: `${address}, or open the firewall`, passes: true },
    ...["ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH", "ECONNRESET", "EPIPE", "PROTOCOL_CONNECTION_LOST"],
    ...["HANDSHAKE_UNKNOWN_ERROR", "PROTOCOL_UNEXPECTED_PACKET"],
  ],
  [{ reason: "there is no such socket", remedy: "Correct the path, or start the server", passes: true }, "ENOENT"],
  [{ reason: "this process may not open the socket", remedy: "Change the rights of its folder" }, "EACCES", "EPERM"],
  [
    {
      reason: "it refuses the account",
      remedy: `Correct the user and the password, which is percent-encoded (@ is %40); ${accounts}`,
    },
    ...[1045, 1698],
  ],
  [{ reason: "it refuses this host", remedy: `Create or rename the account: ${accounts}` }, 1130],
  [{ reason: "it refuses this host after too many errors", remedy: "Run FLUSH HOSTS, or restart the server" }, 1129],
  [
    { reason: "the account may not use this database", remedy: "GRANT it the rights that docs/operating.md lists" },
    1044,
  ],
  [{ reason: "it has no database of this name", remedy: "Correct the name, or CREATE DATABASE" }, 1049],
  [{ reason: "the account lacks a right on a table" }, 1142, 1143],
  [{ reason: "the account is locked", remedy: "Run ALTER USER … ACCOUNT UNLOCK" }, 3118, 4151],
  [{ reason: "the password has expired", remedy: "Set a new one by ALTER USER" }, 1820, 1862],
  [
    { reason: "the account authenticates in a way that Stoa does not know", remedy: "Give it a password" },
    ...[1251, "AUTH_SWITCH_PLUGIN_ERROR"],
  ],
  [{ reason: "it demands TLS", remedy: "Add ?ssl=true, or ?ssl_ca=/path/to/ca.pem" }, 3159],
  [{ reason: "it offers no TLS", remedy: "Switch TLS on in the server, or remove ssl" }, "HANDSHAKE_NO_SSL_SUPPORT"],
];
const byCode = new Map(known.flatMap(([failure, ...codes]) => codes.map((code) => [code, failure] as const)));

/** Why connecting or the first statement failed; undefined for an error of another kind. */
export function connectFailureOf(error: unknown): ConnectFailure | undefined {
  const { errno, code, message } = driverErrorOf(error);
  const failure = byCode.get(errno ?? 0) ?? byCode.get(code ?? "");
  if (failure !== undefined) return failure;
  if (code === "HANDSHAKE_SSL_ERROR") {
    return {
      reason: `TLS failed: ${message}`,
      remedy: "Name the authority by ?ssl_ca=, and the host as its certificate does",
    };
  }
  const temporary = findServerError(errno);
  if (temporary !== undefined) return { reason: temporary.reason, passes: true };
  // The database did not answer in time.
  return error instanceof StoaError ? { reason: "it cannot be reached, or not in time", passes: true } : undefined;
}

/** Describes a failure in a few words that may be published, unlike the driver's message: see `ConnectFailure.reason`. */
export function explainFailure(error: unknown): string {
  const { errno, code } = driverErrorOf(error);
  return connectFailureOf(error)?.reason ?? `error ${errno ?? code ?? "unknown"}`;
}

/** The error of the driver in what `toStoaError` made of it; another error as it is. */
export function driverErrorOf(error: unknown): { errno?: number; code?: string; message: string } {
  return (error instanceof StoaError && error.cause ? error.cause : error) as Error;
}

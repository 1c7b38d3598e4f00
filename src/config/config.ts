import { resolve } from "node:path";
import type { OverloadLimits } from "../process/overload.ts";
import { readPrivateFile } from "../process/read-file.ts";
import { type NewAgentQuotas, parseNewAgentQuotas } from "../rate-limits/new-agents.ts";
import type { Quotas } from "../rate-limits/quota.ts";
import type { StreamLimits } from "../rate-limits/stream-limits.ts";
import { type DatabaseConfig, describeDatabase, isUnprotected, parseDatabaseUrl } from "./database-url.ts";
import { ConfigError, type Environment, Settings } from "./environment.ts";
import { readPem } from "./files.ts";
import {
  type MetricsConfig,
  type RegistrationConfig,
  readMetrics,
  readOperators,
  readOverloadLimits,
  readQuotas,
  readRegistration,
  readResource,
  readSecurity,
  readStreamLimits,
  type SecurityConfig,
} from "./groups.ts";
import type { NamedToken } from "./operator-tokens.ts";
import { warnOfUnknownSettings } from "./unknown-settings.ts";
import {
  integerBetween,
  isWildcard,
  offOr,
  oneOf,
  parseCollector,
  parseDate,
  parseHost,
  parseOrigin,
  parsePort,
  parseProxies,
  parseSiteUrl,
  parseToken,
  refuseWorkers,
} from "./values.ts";

/** Everything that can be set from outside. */
export interface Config {
  host: string;
  /** 0 lets the system choose. */
  port: number;
  /** The public root address, without a slash at its end; undefined means the address that the service listens on. */
  siteUrl: string | undefined;
  /** Where the database is; undefined means a private server in `dataDir`. */
  database: DatabaseConfig | undefined;
  /** An account that may alter the schema, if the serving account may not. */
  migrationDatabase: DatabaseConfig | undefined;
  /** Whether triggers protect the ledger, the record of moderation and the log. Some clusters do not run them reliably. */
  ledgerTriggers: boolean;
  /** How many connections to the database may be open. */
  databaseConnections: number;
  /** How long a call may wait for the database in all, in milliseconds. */
  databaseTimeoutMs: number;
  /** How long a start waits for a database that does not answer yet, in milliseconds. */
  databaseWaitMs: number;
  dataDir: string;
  /** The minimum of free space on the private database's disk, in MiB. With less, writes are refused. */
  minFreeMiB: number | "default" | "off";
  /** The bearer token that allows everything. Without this and `operatorTokens` there are no services for operators. */
  operatorToken: string | undefined;
  /** Further tokens, each with its own rights, and the path of the file that holds them. */
  operatorTokens: { path: string; tokens: NamedToken[] } | undefined;
  registration: RegistrationConfig;
  /** The date that is day 1 of the ledger; undefined means the date of the first start. */
  ledgerEpoch: string | undefined;
  boardLog: BoardLogConfig;
  /** The rate limits of callers; undefined means no limits. */
  rateLimits: Quotas | undefined;
  /** The smaller quotas of agents in their first 24 hours. */
  newAgentLimits: NewAgentQuotas;
  /** How many streams may be open at a time, and for how long. */
  streams: StreamLimits;
  /** The use of memory above which new work is refused. */
  overload: OverloadLimits;
  /** Whose X-Forwarded-For is believed: addresses, networks, and the ranges loopback, linklocal and uniquelocal. */
  trustProxy: string[];
  metrics: MetricsConfig;
  /** What security.txt says; undefined means that there is no such file. */
  security: SecurityConfig | undefined;
  /** PEM texts; undefined means no TLS. */
  tls: { cert: string; key: string } | undefined;
  /** Where spans are sent; undefined means that tracing is off. */
  tracesUrl: string | undefined;
  /** The attributes that every span carries, `service.name` among them. */
  traceResource: Record<string, string>;
  /** How much of a client's address is logged. */
  logAddresses: LogAddresses;
  logLevel: "trace" | "debug" | "info" | "warn" | "error" | "silent";
  /** How long the service keeps serving after it was told to stop, in milliseconds. */
  stopDelayMs: number;
  /** How long running calls may take to finish when the service stops, in milliseconds. */
  drainTimeoutMs: number;
  /** How long a reply may have unsent bytes without progress, in milliseconds. */
  sendTimeoutMs: number;
  /** How many bytes of requests, bodies and unsent replies the service holds for one connection, and for all. */
  maxUnsentBytesPerConnection: number;
  maxUnsentBytes: number;
  /** How many connections of clients may be open, in all and from one address. */
  maxConnections: number;
  maxConnectionsPerAddress: number;
  /** Warnings about settings that do not prevent a start, one line each. */
  warnings: string[];
}

/** The board's transparency log. */
export interface BoardLogConfig {
  /** Whether a new log may begin. An existing log always goes on. */
  mayBegin: boolean;
  /** The name of the log; undefined means the name in the key, or for a new key one made of the site's address. */
  origin: string | undefined;
  /** The content of the file that STOA_LOG_KEY_FILE names; undefined means that a key is looked for in `dataDir`. */
  keyText: string | undefined;
}

/** `truncated` logs only the network of an address: 24 bits (IPv4) or 48 bits (IPv6). */
export type LogAddresses = "full" | "truncated" | "none";

export { type DatabaseConfig, describeDatabase } from "./database-url.ts";
export { ConfigError } from "./environment.ts";
export type { MetricsConfig } from "./groups.ts";

const MIB = 1024 * 1024;

/** Reads the settings. @throws ConfigError for the first one that cannot be used */
export function readConfig(environment: Environment): Config {
  const settings = new Settings(environment);
  const { read, readSecret, known } = settings;
  const cert = read("STOA_TLS_CERT", readPem);
  const key = read("STOA_TLS_KEY", readPem);
  if ((cert === undefined) !== (key === undefined)) {
    throw new ConfigError("STOA_TLS_CERT and STOA_TLS_KEY go together; one of them is missing.");
  }
  const isUnsynced = read("STOA_DATABASE_SYNC_READS", oneOf("on", "off")) === "off";
  const readDatabase = (name: string) => {
    const address = readSecret(name, parseDatabaseUrl);
    return address && { ...address, ...(isUnsynced ? { syncReads: false } : {}) };
  };
  const database = readDatabase("STOA_DATABASE_URL");
  const migrationDatabase = readDatabase("STOA_MIGRATION_DATABASE_URL");
  if (migrationDatabase !== undefined && database?.database !== migrationDatabase.database) {
    throw new ConfigError("STOA_MIGRATION_DATABASE_URL must name the same database as STOA_DATABASE_URL.");
  }
  const host = read("STOA_HOST", parseHost) ?? "127.0.0.1";
  const siteUrl = read("STOA_SITE_URL", parseSiteUrl);
  if (siteUrl === undefined && isWildcard(host)) {
    throw new ConfigError(
      `STOA_SITE_URL is missing: STOA_HOST ${host} means every address of this machine, and replies must contain one that ` +
        "clients can reach, such as https://stoa.example.",
    );
  }
  const quotas = readQuotas(read);
  read("STOA_WORKERS", refuseWorkers);
  const databaseConnections = read("STOA_DATABASE_CONNECTIONS", integerBetween(4, 1000)) ?? 32;
  const operatorToken = readSecret("STOA_OPERATOR_TOKEN", parseToken);
  const registration = readRegistration(settings, operatorToken);
  const operatorTokens = readOperators(settings, [operatorToken, registration.token]);
  const resource = readResource(settings);
  const config: Omit<Config, "warnings"> = {
    host,
    port: read("STOA_PORT", parsePort) ?? 8080,
    siteUrl,
    database,
    migrationDatabase,
    ledgerTriggers: read("STOA_LEDGER_TRIGGERS", oneOf("on", "off")) !== "off",
    databaseConnections,
    databaseTimeoutMs: 1000 * (read("STOA_DATABASE_TIMEOUT_SECONDS", integerBetween(1, 600)) ?? 10),
    databaseWaitMs: 1000 * (read("STOA_DATABASE_WAIT_SECONDS", integerBetween(0, 3600)) ?? 60),
    dataDir: resolve(read("STOA_DATA_DIR", String) ?? ".stoa"),
    minFreeMiB: read("STOA_MIN_FREE_MIB", offOr(integerBetween(1, 1_000_000))) ?? "default",
    operatorToken,
    operatorTokens,
    registration,
    ledgerEpoch: read("STOA_LEDGER_EPOCH", parseDate),
    boardLog: {
      mayBegin: read("STOA_LOG", oneOf("on", "off")) !== "off",
      origin: read("STOA_LOG_ORIGIN", parseOrigin),
      keyText: read("STOA_LOG_KEY_FILE", readPrivateFile),
    },
    rateLimits: read("STOA_RATE_LIMITS", oneOf("on", "off")) === "off" ? undefined : quotas,
    newAgentLimits: read("STOA_NEW_AGENT_LIMITS", parseNewAgentQuotas) ?? {},
    streams: readStreamLimits(read),
    overload: readOverloadLimits(read),
    trustProxy: read("STOA_TRUST_PROXY", parseProxies) ?? [],
    metrics: readMetrics(settings),
    security: readSecurity(settings),
    tls: cert !== undefined && key !== undefined ? { cert, key } : undefined,
    tracesUrl: read("OTEL_EXPORTER_OTLP_ENDPOINT", parseCollector),
    traceResource: resource.attributes,
    logLevel: read("STOA_LOG_LEVEL", oneOf("trace", "debug", "info", "warn", "error", "silent")) ?? "info",
    logAddresses: read("STOA_LOG_ADDRESSES", oneOf("full", "truncated", "none")) ?? "full",
    stopDelayMs: 1000 * (read("STOA_STOP_DELAY_SECONDS", integerBetween(0, 3600)) ?? 0),
    drainTimeoutMs: 1000 * (read("STOA_DRAIN_SECONDS", integerBetween(0, 3600)) ?? 10),
    sendTimeoutMs: 1000 * (read("STOA_SEND_TIMEOUT_SECONDS", integerBetween(1, 3600)) ?? 45),
    // A feed page of up to 3 MB must fit.
    maxUnsentBytesPerConnection:
      read("STOA_MAX_UNSENT_BYTES_PER_CONNECTION", integerBetween(8 * MIB, 1024 * MIB)) ?? 16 * MIB,
    maxUnsentBytes: read("STOA_MAX_UNSENT_BYTES", integerBetween(8 * MIB, 16_384 * MIB)) ?? 48 * MIB,
    maxConnections: read("STOA_MAX_CONNECTIONS", integerBetween(1, 1_000_000)) ?? 2048,
    maxConnectionsPerAddress: read("STOA_MAX_CONNECTIONS_PER_ADDRESS", integerBetween(1, 1_000_000)) ?? 256,
  };
  return {
    ...config,
    warnings: [
      ...warnOfUnknownSettings(environment, known),
      ...warnOfPlainDatabase("STOA_DATABASE_URL", database),
      ...warnOfPlainDatabase("STOA_MIGRATION_DATABASE_URL", migrationDatabase),
      ...warnOfExpiry(config.security),
      ...resource.warnings,
    ],
  };
}

/** The settings as they are logged, without secrets. */
export function describeConfig(config: Config): Record<string, unknown> {
  const {
    tls,
    database,
    migrationDatabase,
    operatorToken,
    operatorTokens,
    registration,
    warnings,
    metrics,
    tracesUrl,
    boardLog,
    ...plain
  } = config;
  return {
    ...plain,
    ...(tracesUrl === undefined ? {} : { tracesUrl: describeUrl(tracesUrl) }),
    metrics: { host: metrics.host, port: metrics.port?.number ?? "none", token: metrics.token !== undefined },
    boardLog: { ...boardLog, keyText: boardLog.keyText !== undefined },
    operator: operatorToken !== undefined,
    operatorTokens: operatorTokens?.tokens.map(({ name }) => name),
    registration: registration.mode,
    tls: tls !== undefined,
    database: database ? describeDatabase(database) : "private",
    ...(migrationDatabase ? { migrationDatabase: describeDatabase(migrationDatabase) } : {}),
  };
}

function describeUrl(text: string): string {
  const { origin, pathname } = new URL(text);
  return origin + pathname;
}

function warnOfPlainDatabase(name: string, database: DatabaseConfig | undefined): string[] {
  if (database === undefined || !isUnprotected(database)) return [];
  return [
    `${name} names another host without TLS: passwords and content can be read and changed on the way. Add ?ssl=true, or ` +
      "?ssl_ca=/path/to/ca.pem for your own certificate authority.",
  ];
}

function warnOfExpiry(security: SecurityConfig | undefined): string[] {
  if (security === undefined || Date.parse(security.expires) > Date.now()) return [];
  return [
    `STOA_SECURITY_EXPIRES is over: /.well-known/security.txt says that it has not been valid since ${security.expires}.`,
  ];
}

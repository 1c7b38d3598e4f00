import type { OverloadLimits } from "../process/overload.ts";
import { defaultQuotas, limitNames, parseQuota, type Quotas } from "../rate-limits/quota.ts";
import { defaultStreamLimits, type StreamLimits } from "../rate-limits/stream-limits.ts";
import { ConfigError, type Read, type Settings } from "./environment.ts";
import { readOperatorTokens } from "./operator-tokens.ts";
import {
  integerBetween,
  oneOf,
  parseAttributes,
  parseContacts,
  parseDate,
  parseHost,
  parseName,
  parseToken,
} from "./values.ts";

/*
 * Readers for groups of related settings.
 */

/** In the range that Prometheus reserves for exporters. */
const defaultMetricsPort = 9464;

/** Where /metrics is served. */
export interface MetricsConfig {
  host: string;
  /** The separate port; undefined means none. If it is the default and in use, the service starts without it. */
  port: { number: number; isDefault: boolean } | undefined;
  /** The bearer token for /metrics on the public port; undefined means that the public port has no /metrics. */
  token: string | undefined;
}

/** Who may register agents: anybody (`open`), whoever sends the token (`token`), or nobody (`closed`). */
export interface RegistrationConfig {
  mode: "open" | "token" | "closed";
  token: string | undefined;
}

/** The OpenTelemetry resource that all spans of this service carry. */
export interface ResourceConfig {
  attributes: Record<string, string>;
  warnings: string[];
}

/** What /.well-known/security.txt says (RFC 9116). */
export interface SecurityConfig {
  /** URIs at which vulnerabilities are reported, the preferred one first. */
  contacts: string[];
  /** The date on which security.txt expires, YYYY-MM-DD. */
  expires: string;
}

export function readMetrics({ read, readSecret }: Settings): MetricsConfig {
  const port = read("STOA_METRICS_PORT", (text) => (text === "none" ? text : integerBetween(0, 65_535)(text)));
  return {
    host: read("STOA_METRICS_HOST", parseHost) ?? "127.0.0.1",
    port: port === "none" ? undefined : { number: port ?? defaultMetricsPort, isDefault: port === undefined },
    token: readSecret("STOA_METRICS_TOKEN", parseToken),
  };
}

/** The named operator tokens and the path of their file. @param others the tokens of other settings */
export function readOperators({ read }: Settings, others: readonly (string | undefined)[]) {
  return read("STOA_OPERATOR_TOKENS_FILE", (path) => ({ path, tokens: readOperatorTokens(path, others) }));
}

/** Refuses a token without `STOA_REGISTRATION=token`: its operator may believe that registration is not open. */
export function readRegistration(
  { read, readSecret }: Settings,
  operatorToken: string | undefined,
): RegistrationConfig {
  const mode = read("STOA_REGISTRATION", oneOf("open", "token", "closed")) ?? "open";
  const token = readSecret("STOA_REGISTRATION_TOKEN", parseToken);
  if (mode === "token" && token === undefined) {
    throw new ConfigError("STOA_REGISTRATION_TOKEN is missing: STOA_REGISTRATION is token.");
  }
  if (mode !== "token" && token !== undefined) {
    throw new ConfigError(
      "STOA_REGISTRATION_TOKEN has no effect without STOA_REGISTRATION=token; unset it or set both.",
    );
  }
  if (token !== undefined && token === operatorToken) {
    throw new ConfigError("STOA_REGISTRATION_TOKEN must not be STOA_OPERATOR_TOKEN, because agents receive it.");
  }
  return { mode, token };
}

/** Reads one setting for each limit, such as STOA_LIMIT_POSTS for `posts`. */
export function readQuotas(read: Read): Quotas {
  const given = limitNames.map((name) => [name, read(`STOA_LIMIT_${name.toUpperCase()}`, parseQuota)] as const);
  return { ...defaultQuotas, ...Object.fromEntries(given.filter(([, quota]) => quota !== undefined)) };
}

export function readOverloadLimits(read: Read): OverloadLimits {
  const heapPercent = read("STOA_MAX_HEAP_PERCENT", integerBetween(0, 100)) ?? 85;
  const residentMiB = read("STOA_MAX_RESIDENT_MIB", integerBetween(0, 1_000_000)) ?? 384;
  return {
    heapShare: heapPercent === 0 ? undefined : heapPercent / 100,
    residentBytes: residentMiB === 0 ? undefined : residentMiB * 1024 * 1024,
  };
}

export function readStreamLimits(read: Read): StreamLimits {
  const count = (name: string) => read(name, integerBetween(1, 1_000_000));
  const { total, perConnection, perAddress, perAgent, maxMs } = defaultStreamLimits;
  return {
    total: count("STOA_MAX_STREAMS") ?? total,
    perConnection: count("STOA_MAX_STREAMS_PER_CONNECTION") ?? perConnection,
    perAddress: count("STOA_MAX_STREAMS_PER_ADDRESS") ?? perAddress,
    perAgent: count("STOA_MAX_STREAMS_PER_AGENT") ?? perAgent,
    maxMs: 1000 * (read("STOA_MAX_STREAM_SECONDS", integerBetween(1, 86_400)) ?? maxMs / 1000),
  };
}

/**
 * As the specification demands, a list of attributes that cannot be parsed is left out and reported:
 * https://opentelemetry.io/docs/specs/otel/resource/sdk/#specifying-resource-information-via-an-environment-variable
 */
export function readResource({ read }: Settings): ResourceConfig {
  const warnings: string[] = [];
  let given: Record<string, string> | undefined;
  try {
    given = read("OTEL_RESOURCE_ATTRIBUTES", parseAttributes);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    warnings.push(`${error.message} Spans go without these attributes.`);
  }
  const name = read("OTEL_SERVICE_NAME", parseName);
  return { attributes: { "service.name": "stoa", ...given, ...(name && { "service.name": name }) }, warnings };
}

/** RFC 9116 demands both a contact and an expiry date. */
export function readSecurity({ read }: Settings): SecurityConfig | undefined {
  const contacts = read("STOA_SECURITY_CONTACT", parseContacts);
  const expires = read("STOA_SECURITY_EXPIRES", parseDate);
  if (contacts !== undefined && expires !== undefined) return { contacts, expires };
  if (contacts === undefined && expires === undefined) return undefined;
  throw new ConfigError("STOA_SECURITY_CONTACT and STOA_SECURITY_EXPIRES go together; one of them is missing.");
}

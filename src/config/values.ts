import { isIPv4, isIPv6 } from "node:net";

/*
 * Parsers for the values of settings. Each throws an Error whose message follows the name of the setting.
 */

export function parseProxies(text: string): string[] {
  return text.split(",").map((each) => {
    const entry = each.trim();
    const [, address = "", prefix = "0"] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(entry) ?? [];
    const bits = isIPv4(address) ? 32 : isIPv6(address) ? 128 : -1;
    if (["loopback", "linklocal", "uniquelocal"].includes(entry) || Number(prefix) <= bits) return entry;
    throw new Error(
      `must be addresses, networks such as 10.0.0.0/8, loopback, linklocal or uniquelocal, separated by commas, not ${JSON.stringify(text)}`,
    );
  });
}

export function integerBetween(min: number, max: number) {
  return (text: string): number => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new Error(`must be an integer from ${min} to ${max}, not ${JSON.stringify(text)}`);
    }
    return value;
  };
}

/** Refuses a setting of an earlier version. */
export function refuseWorkers(): never {
  throw new Error(
    "is no setting any more: a service is one process. Remove it, and run several replicas on one database instead, " +
      "as docs/operating.md says",
  );
}

/** Accepts the word `off`, or what `parse` accepts. */
export function offOr<Value>(parse: (text: string) => Value) {
  return (text: string): Value | "off" => {
    if (text === "off") return text;
    try {
      return parse(text);
    } catch (error) {
      throw new Error(`must be off, or ${(error as Error).message.replace(/^must be /, "")}`);
    }
  };
}

export function oneOf<Value extends string>(...values: Value[]) {
  return (text: string): Value => {
    const value = values.find((each) => each === text);
    if (value === undefined) throw new Error(`must be one of ${values.join(", ")}, not ${JSON.stringify(text)}`);
    return value;
  };
}

export function parseHost(text: string): string {
  if (!/^[A-Za-z0-9.:_-]+$/.test(text))
    throw new Error(`must be a host name or an address, not ${JSON.stringify(text)}`);
  return text;
}

/** A host as it stands in a URL: the addresses of IPv6 have brackets. */
export function hostInUrl(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** Whether a host is every address of this machine, in any spelling (`0`, `0:0::0`). Clients cannot connect to it. */
export function isWildcard(host: string): boolean {
  const url = URL.parse(`http://${hostInUrl(host)}`);
  return url !== null && ["0.0.0.0", "[::]", "[::ffff:0:0]"].includes(url.hostname);
}

/**
 * Receipts contain this address in shell commands, so it must not hold characters that a shell interprets. Pages and
 * the API are at the root of their host, so it has no path.
 * @returns the address without a slash at its end
 */
export function parseSiteUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:\/\/[A-Za-z0-9._:[\]/~-]+$/.test(text) || url.username !== "") {
    throw new Error("must be an http or https address of plain characters, such as https://stoa.example");
  }
  if (!/^\/*$/.test(url.pathname)) {
    throw new Error(`must have no path: Stoa is at the root of its host, such as ${url.origin}`);
  }
  return url.origin;
}

export function parsePort(text: string): number {
  if (/^tcp:\/\//.test(text)) {
    throw new Error(
      `must be a port, not ${JSON.stringify(text)}. Kubernetes sets it so where a Service is named stoa: set` +
        " enableServiceLinks: false for the pod",
    );
  }
  return integerBetween(0, 65_535)(text);
}

export function parseToken(text: string): string {
  if (!/^[\x21-\x7e]{32,}$/.test(text)) throw new Error("must be at least 32 visible ASCII characters");
  return text;
}

/** Reads the name of a log. The first entry holds up to four such names, and must fit in 1,024 bytes. */
export function parseOrigin(text: string): string {
  if (!/^[\x21-\x2a\x2c-\x7e]{1,128}$/.test(text)) {
    throw new Error(
      `must be 1 to 128 visible ASCII characters without +, such as stoa.example/log, not ${JSON.stringify(text)}`,
    );
  }
  return text;
}

export function parseDate(text: string): string {
  const time = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  if (Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== text) {
    throw new Error(`must be a date, YYYY-MM-DD, not ${JSON.stringify(text)}`);
  }
  return text;
}

/** Reads the address of an OpenTelemetry collector. @returns its URL for spans (OTLP over HTTP) */
export function parseCollector(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    // The message leaves out the address, which may hold a password.
    throw new Error("must be an address such as http://collector:4318");
  }
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/v1/traces`;
  return url.href;
}

export function parseName(text: string): string {
  if (/^[\x21-\x7e]{1,100}$/.test(text)) return text;
  throw new Error(`must be 1 to 100 visible ASCII characters, not ${JSON.stringify(text)}`);
}

/** Reads the contacts of security.txt (RFC 9116, section 2.5.3): https, mailto or tel URIs, separated by commas. */
export function parseContacts(text: string): string[] {
  return text.split(",").map((each) => {
    const contact = each.trim();
    if (/^(?:https:\/\/|mailto:[^@]+@|tel:)[\x21-\x7e]+$/.test(contact) && URL.canParse(contact)) return contact;
    throw new Error(
      `must be addresses such as mailto:security@stoa.example or https://stoa.example/report, separated by commas, not ${JSON.stringify(text)}`,
    );
  });
}

/** Reads OpenTelemetry's list of attributes, such as `key=value,key=value`. Keys and values are percent-encoded. */
export function parseAttributes(text: string): Record<string, string> {
  const entries = text.split(",").map((each) => {
    const match = /^\s*((?:[^=%]|%[0-9a-f]{2})+)=((?:[^=%]|%[0-9a-f]{2})*)$/i.exec(each);
    const [key, value] = match?.slice(1).map((part) => decodeUtf8(part.trim())) ?? [];
    if (key === undefined || value === undefined) {
      throw new Error(
        "must be key=value pairs, separated by commas, percent-encoded where they hold one of the characters ,=%",
      );
    }
    return [key, value];
  });
  return Object.fromEntries(entries);
}

/** Decodes percent-encoded UTF-8. @returns undefined for other bytes */
function decodeUtf8(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { describeConfig, readConfig } from "../../src/config/config.ts";
import { defaultQuotas, limitNames } from "../../src/rate-limits/quota.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

const folder = scratchFolder();

it("every setting has a default, and an empty variable counts as absent", () => {
  const defaults = readConfig({});
  expect(defaults).toMatchObject({
    host: "127.0.0.1",
    port: 8080,
    siteUrl: undefined,
    database: undefined,
    migrationDatabase: undefined,
    tls: undefined,
    tracesUrl: undefined,
    traceResource: { "service.name": "stoa" },
    logLevel: "info",
    drainTimeoutMs: 10_000,
    sendTimeoutMs: 45_000,
    maxUnsentBytesPerConnection: 16_777_216,
    maxUnsentBytes: 48 * 1024 * 1024,
    maxConnections: 2048,
    maxConnectionsPerAddress: 256,
    databaseTimeoutMs: 10_000,
    databaseWaitMs: 60_000,
  });
  expect(defaults.dataDir).toBe(join(process.cwd(), ".stoa"));
  const asked: string[] = [];
  readConfig(new Proxy({}, { get: (_, name) => void asked.push(String(name)) }));
  expect(readConfig(Object.fromEntries(asked.map((name) => [name, ""])))).toEqual(defaults);
});

it("the contacts for vulnerabilities are addresses, which end to be valid", () => {
  const contact = "mailto:security@stoa.example, https://stoa.example/report,tel:+1-201-555-0123";
  const read = (STOA_SECURITY_CONTACT?: string, STOA_SECURITY_EXPIRES?: string) =>
    readConfig({ STOA_SECURITY_CONTACT, STOA_SECURITY_EXPIRES });
  const { security, warnings } = read(contact, "2101-12-31");
  const contacts = ["mailto:security@stoa.example", "https://stoa.example/report", "tel:+1-201-555-0123"];
  expect([security, warnings]).toEqual([{ contacts, expires: "2101-12-31" }, []]);
  expect(read(contact, "2001-12-31").warnings).toEqual([expect.stringMatching(/^STOA_SECURITY_EXPIRES is over/)]);
  for (const [contact, expires] of [["mailto:a@b.example"], [undefined, "2101-12-31"]]) {
    expect(() => read(contact, expires)).toThrow(/^STOA_SECURITY_CONTACT and STOA_SECURITY_EXPIRES go together/);
  }
  for (const bad of ["security@stoa.example", "http://stoa.example", "mailto:nobody", "https://a\nb", ","]) {
    expect(() => read(bad, "2101-12-31"), bad).toThrow(/^STOA_SECURITY_CONTACT must be addresses such as mailto:/);
  }
});

it("what spans say of the service is percent-decoded, and left out where it cannot be read", () => {
  const read = (OTEL_RESOURCE_ATTRIBUTES: string, OTEL_SERVICE_NAME = "") => {
    const { traceResource, warnings } = readConfig({ OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME });
    return [traceResource, warnings];
  };
  const text = "deployment.environment.name=a%2Cb%3D%C3%A9, team = the stoics,empty=,service.name=theirs";
  const given = { "deployment.environment.name": "a,b=é", team: "the stoics", empty: "" };
  expect(read(text)).toEqual([{ ...given, "service.name": "theirs" }, []]);
  expect(read(text, "ours")).toEqual([{ ...given, "service.name": "ours" }, []]);
  for (const bad of ["a", "a=b=c", "=b", "a=b,", "a=%", "a=%ff", "a=b, "]) {
    const warning = expect.stringMatching(/^OTEL_RESOURCE_ATTRIBUTES .* Spans go without these attributes\.$/);
    expect(read(bad), bad).toEqual([{ "service.name": "stoa" }, [warning]]);
  }
});

it("several processes for one service are refused, with what to do instead", () => {
  expect(() => readConfig({ STOA_WORKERS: "4" })).toThrow(/^STOA_WORKERS is no setting any more: .*several replicas/);
});

it("the site address is the root of its host, with or without a slash at its end", () => {
  expect(readConfig({ STOA_SITE_URL: "https://stoa.example/" }).siteUrl).toBe("https://stoa.example");
  expect(() => readConfig({ STOA_SITE_URL: "https://stoa.example/board/" })).toThrow(
    "STOA_SITE_URL must have no path: Stoa is at the root of its host, such as https://stoa.example.",
  );
});

// One of each kind of setting and each way to be wrong. Integers, tokens, dates and proxies are in bounds.test.ts.
it.each([
  ["STOA_HOST", "a b"],
  ["STOA_SITE_URL", "ftp://stoa.example"],
  ["STOA_SITE_URL", "stoa.example"],
  ["STOA_SITE_URL", "https://stoa.example/$(reboot)"],
  ["STOA_SITE_URL", "https://user:pw@stoa.example"],
  ["STOA_SITE_URL", "https://stoa.example/?a=b"],
  ["STOA_LOG_LEVEL", "loud"],
  ["STOA_REGISTRATION", "none"],
  ["STOA_REGISTRATION_TOKEN", "too-short-a-token"],
  ["STOA_NEW_AGENT_LIMITS", "calls=5/1h"],
  ["STOA_TLS_CERT", "/nonexistent/cert.pem"],
  ["STOA_RATE_LIMITS", "yes"],
  ["STOA_LIMIT_POSTS", "10/1w"],
])("%s=%s is refused with one line that names the setting", (name, value) => {
  expect(() => readConfig({ [name]: value })).toThrow(new RegExp(`^${name} [^\n]+\\.$`));
});

it("rate limits are on by default, can be set one by one, and can be switched off", () => {
  expect(readConfig({})).toMatchObject({ rateLimits: defaultQuotas, newAgentLimits: {} });
  for (const name of limitNames) {
    const { rateLimits } = readConfig({ [`STOA_LIMIT_${name.toUpperCase()}`]: "7/2h" });
    expect(rateLimits).toEqual({ ...defaultQuotas, [name]: { calls: 7, windowSeconds: 7200 } });
  }
  const { newAgentLimits } = readConfig({ STOA_NEW_AGENT_LIMITS: "posts=5/1h,reports=1/1d" });
  expect(newAgentLimits).toMatchObject({ reports: { calls: 1, windowSeconds: 86_400 } });
  expect(readConfig({ STOA_RATE_LIMITS: "off", STOA_LIMIT_POSTS: "7/2h" }).rateLimits).toBeUndefined();
  // An invalid limit is refused even if rate limits are off.
  expect(() => readConfig({ STOA_RATE_LIMITS: "off", STOA_LIMIT_POSTS: "7" })).toThrow("STOA_LIMIT_POSTS must be");
});

it("registration is open by default, needs a token only where that is set, and a token is never set in vain", () => {
  const token = "an-example-of-32-characters-or-more";
  expect(readConfig({}).registration).toEqual({ mode: "open", token: undefined });
  expect(readConfig({ STOA_REGISTRATION: "closed" }).registration).toEqual({ mode: "closed", token: undefined });
  const set = { STOA_REGISTRATION: "token", STOA_REGISTRATION_TOKEN: token };
  expect(readConfig(set).registration).toEqual({ mode: "token", token });
  expect(readConfig({ ...set, STOA_REGISTRATION_TOKEN: "x".repeat(32) }).registration.token).toHaveLength(32);
  expect(() => readConfig({ STOA_REGISTRATION: "token" })).toThrow(/^STOA_REGISTRATION_TOKEN is missing: [^\n]+\.$/);
  for (const mode of ["open", "closed", ""]) {
    expect(() => readConfig({ ...set, STOA_REGISTRATION: mode })).toThrow(
      /^STOA_REGISTRATION_TOKEN has no effect without STOA_REGISTRATION=token[^\n]+\.$/,
    );
  }
  expect(() => readConfig({ ...set, STOA_OPERATOR_TOKEN: token })).toThrow(
    /^STOA_REGISTRATION_TOKEN must not be STOA_OPERATOR_TOKEN[^\n]+\.$/,
  );
});

describe("the file of operators' tokens", () => {
  const path = join(folder, "tokens.json");
  const token = "a-token-of-32-characters-or-more";
  const read = (content: unknown, more: Record<string, string> = {}, mode = 0o600) => {
    const text = typeof content === "string" ? content : JSON.stringify(content);
    rmSync(path, { force: true });
    writeFileSync(path, text, { mode });
    return readConfig({ STOA_OPERATOR_TOKENS_FILE: path, ...more });
  };
  const entry = { name: "exchange", token, rights: ["seal:metals"] };

  it("holds names, tokens and rights, and is described without tokens", () => {
    const all = { name: "all", token: `${token}-2`, seat: "floor", rights: ["seal", "moderate", "read reports"] };
    const config = read([entry, all]);
    expect(config.operatorTokens?.tokens).toEqual([
      { name: "exchange", token, seat: "desk", books: ["metals"], mayModerate: false, mayReadReports: false },
      { name: "all", token: `${token}-2`, seat: "floor", books: "all", mayModerate: true, mayReadReports: true },
    ]);
    expect(describeConfig(config)).toMatchObject({ operatorTokens: ["exchange", "all"] });
    expect(JSON.stringify(describeConfig(config))).not.toContain(token);
  });

  it.each<[string, unknown, string]>([
    ["what is no JSON", `[{"token": "${token}"`, "names a file that is not JSON"],
    ["no list", entry, "names a file that is not a list of at most 100 tokens"],
    ["no object", [entry, 7], "names a file whose entry 2 is not an object"],
    ["an unknown member", [{ ...entry, book: "x" }], "entry 1 has other members than name, token, rights and seat"],
    ["a bad name", [{ ...entry, name: "a b" }], "entry 1 needs a name of 1 to 64 letters"],
    ["a bad seat", [{ ...entry, seat: "" }], "entry 1 needs a seat of 1 to 64 letters"],
    ["no token", [{ ...entry, token: undefined }], "entry 1 has no token"],
    ["a short token", [{ ...entry, token: "short" }], "entry 1 has a token that must be at least 32 visible"],
    ["no rights", [{ ...entry, rights: [] }], "entry 1 has no list of rights; rights are seal, seal:BOOK, moderate"],
    ["an unknown right", [{ ...entry, rights: ["seal:"] }], "entry 1 has an unknown right; rights are"],
    ["a name twice", [entry, { ...entry, token: `${token}-2` }], "in which two entries have the same name"],
    ["a token twice", [entry, { ...entry, name: "other" }], "names a file in which two entries have the same token"],
  ])("%s stops the start with one line", (_, content, fault) => {
    expect(() => read(content)).toThrow(/^STOA_OPERATOR_TOKENS_FILE names a file [^\n]+\.$/);
    expect(() => read(content)).toThrow(fault);
    expect(() => read(content)).not.toThrow(token);
  });

  it("is its owner's alone, and holds no other token of the service", () => {
    expect(() => read([entry], {}, 0o640)).toThrow(
      /^STOA_OPERATOR_TOKENS_FILE names a file that others may read; run: /,
    );
    const own = { STOA_OPERATOR_TOKEN: token };
    const agents = { STOA_REGISTRATION: "token", STOA_REGISTRATION_TOKEN: token };
    for (const other of [own, agents]) {
      expect(() => read([entry], other)).toThrow(/holds STOA_OPERATOR_TOKEN or STOA_REGISTRATION_TOKEN\.$/);
    }
  });
});

it("metrics have a separate port by default, and are on the public port with a token", () => {
  expect(readConfig({}).metrics).toEqual({
    host: "127.0.0.1",
    port: { number: 9464, isDefault: true },
    token: undefined,
  });
  expect(readConfig({ STOA_METRICS_PORT: "9464" }).metrics.port).toEqual({ number: 9464, isDefault: false });
  expect(readConfig({ STOA_METRICS_PORT: "none" }).metrics.port).toBeUndefined();
  const token = "an-example-of-32-characters-or-more";
  expect(readConfig({ STOA_METRICS_TOKEN: token, STOA_METRICS_HOST: "::1" }).metrics).toMatchObject({
    host: "::1",
    token,
  });
});

it("a certificate and its key must be set together, as PEM files", () => {
  const cert = join(folder, "cert.pem");
  writeFileSync(cert, "-----BEGIN CERTIFICATE-----\n");
  expect(() => readConfig({ STOA_TLS_CERT: cert })).toThrow("STOA_TLS_CERT and STOA_TLS_KEY go together");
  expect(readConfig({ STOA_TLS_CERT: cert, STOA_TLS_KEY: cert }).tls?.cert).toContain("BEGIN CERTIFICATE");
  writeFileSync(cert, "not PEM");
  expect(() => readConfig({ STOA_TLS_CERT: cert })).toThrow("STOA_TLS_CERT must name a PEM file.");
  // Reading one of these would block the process.
  for (const path of [folder, "/dev/zero"])
    expect(() => readConfig({ STOA_TLS_CERT: path })).toThrow(
      "STOA_TLS_CERT names something that is not a regular file.",
    );
});

it("the description of the configuration contains no passwords and keys", () => {
  const key = join(folder, "key.pem");
  writeFileSync(key, "-----BEGIN PRIVATE KEY-----\nhunter3\n");
  const config = readConfig({
    STOA_DATABASE_URL: "mysql://u:hunter2@db.example/stoa",
    STOA_TLS_CERT: key,
    STOA_TLS_KEY: key,
    STOA_OPERATOR_TOKEN: "hunter4-hunter4-hunter4-hunter4-hunter4",
    STOA_REGISTRATION: "token",
    STOA_REGISTRATION_TOKEN: "hunter6-hunter6-hunter6-hunter6-hunter6",
    STOA_METRICS_TOKEN: "hunter5-hunter5-hunter5-hunter5-hunter5",
    OTEL_EXPORTER_OTLP_ENDPOINT: "https://u:hunter6@collector.example/otlp/?key=hunter7",
  });
  expect(config.tracesUrl).toBe("https://u:hunter6@collector.example/otlp/v1/traces?key=hunter7");
  const text = JSON.stringify(describeConfig(config));
  expect(text).not.toMatch(/hunter/);
  expect(text).toContain('"registration":"token"');
  expect(text).toContain("u@db.example:3306/stoa");
  expect(text).toContain('"https://collector.example/otlp/v1/traces"');
});

// Every spelling of it: the system takes 0 and 0x0 for an address, too.
it.each(["0.0.0.0", "0", "0x0", "::", "0:0::0", "::ffff:0.0.0.0"])(
  "the host %s is refused without a site address, because clients cannot connect to addresses that contain it",
  (host) => {
    expect(() => readConfig({ STOA_HOST: host })).toThrow(/^STOA_SITE_URL is missing: STOA_HOST [^\n]+\.$/);
    const siteUrl = "https://stoa.example";
    expect(readConfig({ STOA_HOST: host, STOA_SITE_URL: siteUrl }).siteUrl).toBe(siteUrl);
    expect(readConfig({ STOA_HOST: "192.0.2.7" })).toMatchObject({ host: "192.0.2.7", siteUrl: undefined });
  },
);

it.each([
  ["STOA_PROT", "STOA_PORT"],
  ["stoa_port", "STOA_PORT"],
  ["PORT", "STOA_PORT"],
  ["STOA_LIMIT_POST", "STOA_LIMIT_POSTS"],
])("the unknown setting %s causes a warning that suggests %s", (name, meant) => {
  const { warnings } = readConfig({ [name]: "hunter2" });
  expect(warnings).toEqual([`${name} is not a setting of Stoa and has no effect; did you mean ${meant}?`]);
});

it("an unknown setting causes a warning without a suggestion if no setting is similar; known settings cause none", () => {
  expect(readConfig({ STOA_COLOUR_SCHEME: "x" }).warnings).toEqual([
    "STOA_COLOUR_SCHEME is not a setting of Stoa and has no effect",
  ]);
  const known = { STOA_PORT: "0", PORT: "0", STOA_SETUP: "never", STOA_TEST_DATABASE_URL: "mysql://h", PATH: "/bin" };
  expect(readConfig(known).warnings).toEqual([]);
});

describe("a secret from a file", () => {
  const fileWith = (text: string) => {
    const path = join(folder, `secret-${Math.random()}`);
    writeFileSync(path, text);
    return path;
  };
  const token = "a-token-of-at-least-32-characters-1";

  it("is its content, with or without a line break at its end", () => {
    for (const end of ["", "\n", "\r\n"])
      expect(readConfig({ STOA_OPERATOR_TOKEN_FILE: fileWith(token + end) }).operatorToken).toBe(token);
    const url = fileWith("mysql://u:p%40ss@db.example/stoa\n");
    expect(readConfig({ STOA_DATABASE_URL_FILE: url }).database).toMatchObject({
      password: "p@ss",
      host: "db.example",
    });
    expect(readConfig({ STOA_METRICS_TOKEN_FILE: fileWith(token) }).metrics.token).toBe(token);
    const closed = { STOA_REGISTRATION: "token", STOA_REGISTRATION_TOKEN_FILE: fileWith(token) };
    expect(readConfig(closed).registration.token).toBe(token);
    expect(readConfig({ STOA_OPERATOR_TOKEN_FILE: fileWith(token) }).warnings).toEqual([]);
  });

  it("must be readable, fit, and be the only one", () => {
    const read = (environment: Record<string, string>) => () => readConfig(environment);
    expect(read({ STOA_OPERATOR_TOKEN_FILE: join(folder, "nowhere") })).toThrow(
      "STOA_OPERATOR_TOKEN_FILE names a file that cannot be read (ENOENT).",
    );
    expect(read({ STOA_OPERATOR_TOKEN_FILE: fileWith("short") })).toThrow(
      "STOA_OPERATOR_TOKEN_FILE names a file whose content must be at least 32 visible ASCII characters.",
    );
    expect(read({ STOA_OPERATOR_TOKEN_FILE: fileWith(token), STOA_OPERATOR_TOKEN: token })).toThrow(
      "STOA_OPERATOR_TOKEN and STOA_OPERATOR_TOKEN_FILE are both set; unset one of them.",
    );
  });
});

// The address of the database, and how TLS is asked for.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { describeConfig, readConfig } from "../../src/config/config.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

it("the address of a database is read", () => {
  const read = (url: string) => readConfig({ STOA_DATABASE_URL: url }).database;
  expect(read("mysql://u:p%40ss@db.example:3307/stoa")).toEqual({
    host: "db.example",
    port: 3307,
    user: "u",
    password: "p@ss",
    database: "stoa",
  });
  expect(read("mysql://root@[::1]/stoa")).toEqual({ host: "::1", port: 3306, user: "root", database: "stoa" });
  expect(read("mysql://root@localhost/stoa?socket=/run/db.sock")).toEqual({
    socketPath: "/run/db.sock",
    user: "root",
    database: "stoa",
  });
});

// What a user mistypes, above all a password with characters of addresses.
it.each([
  ["mysql://root:hunter2@localhost/", /the name of the database is missing/],
  ["mysql://root:hunter2@localhost/stoa/more", /name of the database/],
  ["postgres://root:hunter2@localhost/stoa", /must begin with mysql:\/\//],
  ["mysql://root:hunter2@localhost:33o6/stoa", /its host or its port is invalid/],
  ["mysql://root:hunter2@localhost:0/stoa", /the port 0/],
  ["mysql://:hunter2@localhost/stoa", /a password without a user/],
  ["mysql://root:hun@ter2@localhost/stoa", /percent-encode it .*@ is %40, \/ is %2F/],
  ["mysql://root:hun/ter2@localhost/stoa", /percent-encode it/],
  ["mysql://root:hun#ter2@localhost/stoa", /percent-encode it/],
  ["mysql://root:hun%ter2@localhost/stoa", /a % that begins no percent-encoding: percent-encode it/],
  ["mysql://root@localhost/stoa?hunter2=1", /an unknown parameter;/],
  ["mysql://root:hunter2@a:3306,b:3306/stoa", /^STOA_DATABASE_URL names several hosts\. Name one: that of a proxy/],
])("the address %s is refused in one line without the password", (url, expected) => {
  for (const name of ["STOA_DATABASE_URL", "STOA_MIGRATION_DATABASE_URL"]) {
    const read = () => readConfig({ STOA_DATABASE_URL: "mysql://a/stoa", [name]: url });
    expect(read).toThrow(new RegExp(expected.source.replace("STOA_DATABASE_URL", name)));
    expect(read).toThrow(new RegExp(`^(?!.*(?:hun|ter2))${name} [^\n]*\\.$`));
  }
});

it("the migration account must use the same database", () => {
  expect(() =>
    readConfig({ STOA_DATABASE_URL: "mysql://a@h/one", STOA_MIGRATION_DATABASE_URL: "mysql://b@h/two" }),
  ).toThrow("STOA_MIGRATION_DATABASE_URL must name the same database");
});

describe("TLS to the database", () => {
  const pem = join(scratchFolder(), "some ca.pem");
  const text = "-----BEGIN CERTIFICATE-----\n";
  const at = encodeURIComponent(pem);
  const read = (query: string) => readConfig({ STOA_DATABASE_URL: `mysql://u@db.example/stoa${query}` });
  beforeAll(() => writeFileSync(pem, text));

  it("always verifies the certificate and the host name", () => {
    const verified = { rejectUnauthorized: true, verifyIdentity: true };
    expect(read("?ssl=true").database?.ssl).toEqual(verified);
    expect(read(`?ssl_ca=${at}`).database?.ssl).toEqual({ ...verified, ca: text });
    const all = read(`?ssl=true&ssl_ca=${at}&ssl_cert=${at}&ssl_key=${at}`);
    expect(all.database?.ssl).toEqual({ ...verified, ca: text, cert: text, key: text });
    expect(read("?ssl=false").database).not.toHaveProperty("ssl");
    expect(describeConfig(all)).toMatchObject({ database: "u@db.example:3306/stoa (TLS)" });
    expect(JSON.stringify(describeConfig(all))).not.toContain("BEGIN");
  });

  it.each([
    ["?ssl=yes", /parameter ssl that is not true or false/],
    ["?ssl=", /parameter ssl without a value/],
    ["?ssl=true&ssl=true", /ssl twice/],
    [`?ssl=false&ssl_ca=${at}`, /ssl=false beside/],
    ["?ssl_ca=/nonexistent/ca.pem", /ssl_ca that names a file that cannot be read \(ENOENT\)/],
    [`?ssl_cert=${at}`, /ssl_cert and ssl_key; they go together/],
    ["?ssl=true&socket=/run/db.sock", /a socket needs no TLS/],
    ["?tls=true", /unknown parameter tls/],
    ["?ssl_mode=required", /unknown parameter ssl_mode/],
  ])("is refused with one line for the parameters %s", (query, expected) => {
    expect(() => read(query)).toThrow(expected);
    expect(() => read(query)).toThrow(/^STOA_DATABASE_URL [^\n]*\.$/);
  });

  it("is recommended by a warning if it is off and the database is on another host", () => {
    const warnings = (url: string, name = "STOA_DATABASE_URL") =>
      readConfig({ STOA_DATABASE_URL: url, [name]: url }).warnings;
    expect(warnings("mysql://u@db.example/stoa")).toEqual([
      expect.stringMatching(/^STOA_DATABASE_URL names another host without TLS/),
    ]);
    expect(warnings("mysql://u@10.0.0.5/stoa", "STOA_MIGRATION_DATABASE_URL")).toHaveLength(2);
    for (const host of ["localhost", "127.0.0.1", "127.1.2.3", "[::1]"])
      expect(warnings(`mysql://u@${host}/stoa`)).toEqual([]);
    expect(warnings("mysql://u@db.example/stoa?socket=/run/db.sock")).toEqual([]);
    expect(warnings("mysql://u@db.example/stoa?ssl=true")).toEqual([]);
  });
});

// The configurations of HAProxy between Stoa and a cluster of databases. `npm run test:cluster` runs them.
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { createConnection, type RowDataPacket } from "mysql2/promise";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { readConfig } from "../../src/config/config.ts";
import { createTestDatabase } from "../support/database.ts";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

interface Check {
  /** The bytes that HAProxy sends, without the text of the query. */
  packets: Buffer[];
  query: string;
  /** The statements of the first lines, which make its account. */
  statements: string[];
  account: string;
}

function readCheck(config: string): Check {
  const text = read(`deploy/haproxy/${config}`);
  const found = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, part]) => part as string);
  const statements = found(/^# +((?:CREATE|GRANT) .*);$/gm);
  return {
    packets: found(/^ +tcp-check send-binary ([0-9a-f]+)$/gm).map((hex) => Buffer.from(hex, "hex")),
    query: found(/^ +tcp-check send "(.+)"$/gm)[0] as string,
    statements,
    account: /CREATE USER (\w+)@/.exec(statements[0] as string)?.[1] as string,
  };
}

it.each(["galera.cfg", "group-replication.cfg"])("%s sends packets that are as long as they say", (config) => {
  const { packets, query, account } = readCheck(config);
  const [handshake, head, quit] = packets as [Buffer, Buffer, Buffer];
  expect(packets).toHaveLength(3);
  expect(handshake.readUIntLE(0, 3)).toBe(handshake.length - 4);
  expect(handshake.subarray(36).toString("latin1").split("\0")[0]).toBe(account);
  // The text follows the number of the packet and the byte for a query.
  expect([head.readUIntLE(0, 3), head.length]).toEqual([query.length + 1, 5]);
  expect(quit).toEqual(Buffer.from([1, 0, 0, 0, 1]));
});

it("the check of this engine finds a server unfit that is in no cluster, with the rights of its account alone", async () => {
  const { rows, config } = await createTestDatabase();
  const [row] = await rows<{ version: string }>("SELECT VERSION() AS version");
  const check = readCheck(String(row?.version).includes("MariaDB") ? "galera.cfg" : "group-replication.cfg");
  const user = `${check.account}_${randomBytes(6).toString("hex")}`;
  for (const statement of check.statements) await rows(statement.replace(check.account, user));
  const { database: _, password: __, ...server } = config;
  const connection = await createConnection({ ...server, user });
  try {
    const [found] = await connection.query<RowDataPacket[]>(check.query);
    expect(found).toEqual([{ state: "stoa-no" }]);
  } finally {
    await connection.end();
    await rows(`DROP USER ${user}@'%'`);
  }
});

it("the compose file of Galera runs the proxy before its nodes, with the account of its checks", () => {
  const { services, "x-replica": replica } = parse(read("deploy/galera/compose.yaml"), { merge: true });
  const url = replica.environment.STOA_DATABASE_URL.replace(/\$\{.*\}/, "secret");
  const proxy = services[readConfig({ STOA_DATABASE_URL: url }).database?.host as string];
  const text = read(proxy.volumes[0].split(":")[0]);
  const nodes = [...text.matchAll(/^ +server \S+ (\S+):3306/gm)].map(([, name]) => name as string);
  expect(proxy.depends_on).toEqual(nodes);
  for (const node of nodes) expect(services).toHaveProperty([node]);
  const accounts = services[nodes[0] as string].volumes.find((each: string) => each.includes("initdb.d")).split(":")[0];
  expect(read(accounts)).toContain(/^# +(CREATE USER .*;)$/m.exec(text)?.[1]);
});

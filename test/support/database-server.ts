import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createConnection } from "mysql2/promise";
import type { TestProject } from "vitest/node";
import { type DatabaseConfig, readConfig } from "../../src/config/config.ts";
import { startPrivateServer } from "../../src/private-database/server/private-server.ts";
import { makeSchemaTemplate } from "./schema-template.ts";

/** The server that all test files share. Each creates its own databases there. */
export type TestServer = Omit<DatabaseConfig, "database">;

declare module "vitest" {
  interface ProvidedContext {
    server: TestServer;
    /** Statements that make the schema in an empty database. */
    schema: string;
  }
}

const maxConnections = 1000;

/** Starts a private server for the run, or uses the one that STOA_TEST_DATABASE_URL names. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const url = process.env.STOA_TEST_DATABASE_URL;
  if (url !== undefined && url !== "") {
    // The tests choose the names of their databases, so the address needs none.
    const named = /^mysql:\/\/[^/?]+\/?(?=\?|$)/.test(url) ? url.replace(/\/?(?=\?|$)/, "/mysql") : url;
    const { database } = readConfig({ STOA_DATABASE_URL: named });
    const server = database as DatabaseConfig;
    const admin = await createConnection(server);
    await admin.query(`SET GLOBAL max_connections = ${maxConnections}`);
    await admin.end();
    await provide(project, server);
    return async () => {};
  }
  const dataDir = mkdtempSync(join(tmpdir(), "stoa-test-"));
  const log: string[] = [];
  const server = await startPrivateServer({
    dataDir,
    log: (line) => log.push(line),
    // Nothing here has to survive a power cut. Several files run at a time, and each starts many services.
    extraArgs: ["--innodb-flush-log-at-trx-commit=0", `--max-connections=${maxConnections}`],
  });
  await provide(project, { socketPath: server.socketPath, user: server.user });
  return async () => {
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
}

async function provide(project: TestProject, server: TestServer): Promise<void> {
  project.provide("server", server);
  project.provide("schema", await makeSchemaTemplate(server, `stoa_test_${randomBytes(8).toString("hex")}`));
}

import { createPool, type Pool, type PoolConnection } from "mysql2";

type Param = string | number | Buffer | null;

/**
 * Opens a pool with the same settings as the service's pool.
 * @param autocommit false for a pool on which the first statement of a transaction begins it
 */
export function openPool(databaseUrl: string, connections: number, autocommit = true): Pool {
  const url = new URL(databaseUrl);
  const socketPath = url.searchParams.get("socket");
  const pool = createPool({
    ...(socketPath === null ? { host: url.hostname, port: Number(url.port || 3306) } : { socketPath }),
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    database: decodeURIComponent(url.pathname.slice(1)),
    connectionLimit: connections,
    maxIdle: connections,
    queueLimit: 5_000,
    charset: "utf8mb4_bin",
    maxPreparedStatements: 200,
    multipleStatements: !autocommit,
  });
  pool.on("connection", (connection) => {
    connection.query("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    connection.query(
      "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO', innodb_lock_wait_timeout = 10",
    );
    if (!autocommit) connection.query("SET autocommit = 0");
  });
  return pool;
}

/** Runs one prepared statement on the given connection, or on any connection. */
export function execute<Result>(on: Pool | PoolConnection, sql: string, params: Param[]): Promise<Result> {
  return new Promise((resolve, reject) => {
    on.execute(sql, params, (error, result) => (error ? reject(error) : resolve(result as Result)));
  });
}

/**
 * Runs `work` in a transaction, and retries it after a deadlock.
 * @param work `atCommit` takes statements that are sent with COMMIT
 * @param begin false if the first statement begins it
 */
export async function transaction<Result>(
  pool: Pool,
  work: (tx: PoolConnection, atCommit: string[]) => Promise<Result>,
  begin = true,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    const connection = await acquire(pool);
    try {
      if (begin) await command(connection, "START TRANSACTION");
      const atCommit: string[] = [];
      const result = await work(connection, atCommit);
      await command(connection, [...atCommit, "COMMIT"].join("; "));
      return result;
    } catch (error) {
      await command(connection, "ROLLBACK");
      if ((error as { code?: string }).code !== "ER_LOCK_DEADLOCK" || attempt === 8) throw error;
    } finally {
      connection.release();
    }
  }
}

function acquire(pool: Pool): Promise<PoolConnection> {
  return new Promise((resolve, reject) => {
    pool.getConnection((error, connection) => (error ? reject(error) : resolve(connection)));
  });
}

function command(connection: PoolConnection, sql: string): Promise<void> {
  return new Promise((resolve, reject) => {
    connection.query(sql, (error) => (error ? reject(error) : resolve()));
  });
}

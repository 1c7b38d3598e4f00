import { createConnection } from "mysql2";
import type { Connection } from "mysql2/promise";
import { untilAborted } from "../../timing/wait.ts";

/** The account that sets up the private server. */
export interface Administrator {
  socketPath: string;
  user: string;
}

/**
 * Runs `work` on its own connection. mysql2 waits for a silent server without a timeout; the signal ends the wait.
 * @throws the signal's reason
 */
export async function administer<Result>(
  administrator: Administrator,
  signal: AbortSignal,
  work: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted();
  const connection = createConnection(administrator);
  // Its statement fails with the same error.
  connection.on("error", () => {});
  const whole = async () => {
    const result = await work(connection.promise());
    await connection.promise().end();
    return result;
  };
  try {
    return await untilAborted(whole(), signal);
  } finally {
    connection.destroy();
  }
}

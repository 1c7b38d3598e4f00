import { createConnection } from "mysql2";
import type { Connection } from "mysql2/promise";
import { untilAborted } from "../../timing/wait.ts";

/** The account that sets the private server up. */
export interface Administrator {
  socketPath: string;
  user: string;
}

/**
 * Runs `work` on a connection of its own. mysql2 waits without bound for a server that is silent: the signal ends that.
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

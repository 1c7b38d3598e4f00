import type { Queryable } from "../database/queryable.ts";

/** The largest rows have stored responses of some 300 KiB. */
const minBytes = 1024 * 1024;

/**
 * Checks that the server accepts packets of the size that the largest statements and rows need.
 * @throws Error with one line for the operator
 */
export async function checkPacketLimit(db: Queryable): Promise<void> {
  const [row] = await db.rows<{ bytes: number }>("SELECT @@max_allowed_packet AS bytes");
  const bytes = Number(row?.bytes ?? minBytes);
  if (bytes >= minBytes) return;
  throw new Error(
    `The database's max_allowed_packet is ${bytes} bytes, and Stoa needs ${minBytes}: set it in the server's configuration` +
      ` (max_allowed_packet = 16M) and by SET GLOBAL max_allowed_packet = ${16 * minBytes}, and start again.`,
  );
}

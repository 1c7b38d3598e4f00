import type { Flavour } from "../../process/programs.mjs";
import type { Queryable } from "../database/queryable.ts";

/** The engine of a server with its version, such as "MariaDB 10.11.6". */
export async function readEngine(db: Queryable): Promise<string> {
  const [server] = await db.rows<{ version: string }>("SELECT VERSION() AS version");
  const [number = "", ...rest] = (server?.version ?? "").split("-");
  return `${rest.includes("MariaDB") ? "MariaDB" : "MySQL"} ${number}`;
}

/** @param engine as `readEngine` returns it */
export function flavourOf(engine: string): Flavour {
  return engine.startsWith("MariaDB ") ? "mariadb" : "mysql";
}

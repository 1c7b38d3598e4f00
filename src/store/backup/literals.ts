// Values as SQL literals without line breaks, for sql_mode without NO_BACKSLASH_ESCAPES. See
// https://dev.mysql.com/doc/refman/8.4/en/string-literals.html; MariaDB's are the same.
import type { Kind, Table } from "./tables.ts";

const special = /[\0\n\r'\\]/g;
const escapes: Record<string, string> = {
  "\0": "\\0",
  "\n": "\\n",
  "\r": "\\r",
  "'": "\\'",
  "\\": "\\\\",
};

/** @param bytes the value as the server sends it on a connection that speaks utf8mb4; null is NULL */
function literal(kind: Kind, bytes: Buffer | null): string {
  if (bytes === null) return "NULL";
  switch (kind) {
    case "number":
      return bytes.toString("latin1");
    case "text":
      return `'${bytes.toString("utf8").replace(special, (character) => escapes[character] as string)}'`;
    case "bytes":
      return `X'${bytes.toString("hex")}'`;
  }
}

/** The values of a row, in parentheses. */
export function rowLiteral({ columns }: Table, row: readonly (Buffer | null)[]): string {
  return `(${columns.map(({ kind }, index) => literal(kind, row[index] ?? null)).join(",")})`;
}

/** An identifier in quotes. */
export function quoteName(name: string): string {
  return `\`${name.replaceAll("`", "``")}\``;
}

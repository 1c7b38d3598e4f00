import type { Tx } from "../database/queryable.ts";
import { compare, type Finding, limitRows, refuse, type TableCheck, type Value } from "./finding.ts";

/**
 * A rule for each row `t`. `column` is the one that a finding names; empty for the whole row. `holds` is SQL that is true for a
 * right row; NULL counts as broken. `problem` is the text of the finding, or makes it from the value of the column.
 */
export type Rule = readonly [column: string, holds: string, problem: string | ((value: Value) => string)];

export interface RowCheckOptions {
  /** The columns of the primary key, that one first which divides the table into ranges. */
  key: readonly [string, ...string[]];
  /** The FROM clause, in which the table is `t`; by default the table alone. */
  from?: string;
  /** Further conditions of the WHERE clause: SQL that begins with AND. */
  where?: string;
  /** The columns that `repairRow` can set, each with SQL of the right value, which follows from other rows. */
  derived?: Readonly<Record<string, string>>;
  /** The same for columns that `repairRow` cannot set. */
  expected?: Readonly<Record<string, string>>;
  /** The values for the `?` in the SQL above. @param now milliseconds since 1970 (UTC) */
  params?: (now: number) => number[];
  rules?: readonly Rule[];
  remove?: (tx: Tx, key: Finding["key"]) => Promise<boolean>;
}

/** Makes a check that every row of a table has the right values and keeps the rules. */
export function createRowCheck(table: string, options: RowCheckOptions): TableCheck {
  const { key, from = `${table} t FORCE INDEX (PRIMARY)`, where = "", derived = {}, expected = {}, remove } = options;
  const { params = () => [], rules = [] } = options;
  const values = Object.entries({ ...derived, ...expected });
  const told = rules.flatMap(([column, , problem]) => (typeof problem === "function" ? [column] : []));
  const selected = [
    ...[...new Set([...key, ...told])].map((column) => `t.${column}`),
    ...values.map(([column, right], index) => `t.${column} AS stored_${index}, ${right} AS right_${index}`),
    ...rules.map(([, holds], index) => `COALESCE(NOT (${holds}), 1) AS breaks_${index}`),
  ];
  const isWrong = [
    ...values.map((_, index) => `NOT (stored_${index} <=> right_${index})`),
    ...rules.map((_, index) => `breaks_${index} = 1`),
  ];
  const sql = `SELECT ${selected.join(",\n      ")}
    FROM ${from} WHERE t.${key[0]} > ? AND t.${key[0]} <= ? ${where}
    HAVING ${isWrong.join(" OR ")} ${limitRows}`;

  function findingsOf(row: Record<string, Value>): Finding[] {
    const id = Object.fromEntries(key.map((column) => [column, row[column] as Value]));
    const subject = (column: string) => (column === "" ? table : `${table}.${column}`);
    return [
      ...values.flatMap(([column], index) =>
        compare(subject(column), id, row[`stored_${index}`] as Value, row[`right_${index}`] as Value),
      ),
      ...rules.flatMap(([column, , problem], index) =>
        refuse(
          row[`breaks_${index}`] === 1,
          subject(column),
          id,
          typeof problem === "string" ? problem : problem(row[column] as Value),
        ),
      ),
    ];
  }

  return {
    table,
    key: key[0],
    derived: Object.keys(derived),
    async find(db, { after, to }, now) {
      return (await db.rows<Record<string, Value>>(sql, [...params(now), after, to])).flatMap(findingsOf);
    },
    ...(remove && { remove }),
  };
}

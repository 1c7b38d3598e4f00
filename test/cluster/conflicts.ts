// Transactions that conflict all the time, on connections that are new all the time: engines have lost some of them.
import { Database } from "../../src/store/database/database.ts";
import type { Clustered } from "./clustered.ts";
import { nodes } from "./servers.ts";

const writersAServer = 4;
/** How many transactions a writer makes before it connects again. */
const transactionsAConnection = 3;
const rows = 20;

/**
 * Adds to a few rows from all servers, and looks whether each acknowledged transaction is there.
 * @param seconds how long
 * @returns how many were acknowledged, and what is wrong
 */
export async function conflict(
  { databases }: Clustered,
  seconds: number,
): Promise<{ acknowledged: number; faults: string[] }> {
  const [first] = databases;
  await first.rows("CREATE TABLE conflicts_head (id INT PRIMARY KEY, newest BIGINT NOT NULL)");
  await first.rows("CREATE TABLE conflicts_rows (id INT PRIMARY KEY, n BIGINT NOT NULL)");
  await first.rows("CREATE TABLE conflicts_acts (id BIGINT PRIMARY KEY, name VARCHAR(40) NOT NULL UNIQUE)");
  await first.rows("INSERT INTO conflicts_head VALUES (1, 0)");
  for (let id = 1; id <= rows; id++) await first.rows("INSERT INTO conflicts_rows VALUES (?, 0)", [id]);

  const acknowledged = new Map<string, number>();
  const faults: string[] = [];
  const end = Date.now() + seconds * 1_000;
  const write = async (writer: string, address: Clustered["databases"][0]["config"]) => {
    for (let count = 0; Date.now() < end; ) {
      const db = new Database({ address, connections: 1 });
      for (let each = 0; each < transactionsAConnection; each++) {
        const name = `${writer}-${count++}`;
        await add(db, name, 1 + (count % rows)).then(
          (act) => acknowledged.set(name, act),
          (error) => {
            if (error.code !== "unavailable") faults.push(`${name}: ${error}`);
          },
        );
      }
      await db.close();
    }
  };
  await Promise.all(
    nodes.flatMap((n) =>
      Array.from({ length: writersAServer }, (_, index) =>
        write(`${n}-${index}`, (databases[n - 1] as Clustered["databases"][0]).config),
      ),
    ),
  );
  const acts = await first.rows<{ id: number; name: string }>("SELECT id, name FROM conflicts_acts");
  const stored = new Map(acts.map(({ id, name }) => [name, id]));
  for (const [name, act] of acknowledged) if (stored.get(name) !== act) faults.push(`lost: ${name}`);
  return { acknowledged: acknowledged.size, faults };
}

/** Its first statements lock a row of many, and its next ones the one row that all want; it ends with a read, as a call does. */
function add(db: Database, name: string, row: number): Promise<number> {
  return db.transaction(new AbortController().signal, async (tx) => {
    await tx.run("UPDATE conflicts_rows SET n = n + 1 WHERE id = ?", [row]);
    const [head] = await tx.rows<{ newest: number }>("SELECT newest FROM conflicts_head WHERE id = 1 FOR UPDATE");
    const act = (head?.newest ?? 0) + 1;
    await tx.run("UPDATE conflicts_head SET newest = ? WHERE id = 1", [act]);
    await tx.run("INSERT INTO conflicts_acts VALUES (?, ?)", [act, name]);
    await tx.rows("SELECT n FROM conflicts_rows WHERE id = ?", [row]);
    return act;
  });
}

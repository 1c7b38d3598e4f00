/** What a server says of itself. */
export interface NodeState {
  /** Tells servers behind one address apart: a connection's id is only valid on its own server. */
  server: string;
  /** `galera`, `group` (Group Replication): several servers have the same data, and writes on two of them may conflict. */
  engine: "single" | "galera" | "group";
  /** Whether only one server of a replication group takes writes; undefined for other engines. */
  hasPrimary?: boolean;
}

/** The row of `stateQuery`. */
export interface StateRow {
  server: string;
  /** The name of the Galera provider; null or empty without one. */
  galera: string | null;
  /** Group Replication: the group's name, a comma, and `ON` if it has a single primary, else `OFF`; null without the plugin. */
  replication: string | null;
}

const groupVariables = "'group_replication_group_name', 'group_replication_single_primary_mode'";

/**
 * Asks a server for its state, in one statement for all engines. Every account may read these tables. Each engine runs the
 * conditional comments for itself, and ignores those for the other.
 */
export const stateQuery = `SELECT CONCAT_WS(' ', @@hostname, @@port, @@datadir) AS server,
  /*M!100100 (SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'WSREP_PROVIDER_NAME') */
  /*!80000 NULL */ AS galera,
  /*!80000 (SELECT GROUP_CONCAT(variable_value ORDER BY variable_name) FROM performance_schema.global_variables
    WHERE variable_name IN (${groupVariables})) */
  /*M!100100 NULL */ AS replication`;

/** Reads the row of `stateQuery`. */
export function readState({ server, galera, replication }: StateRow): NodeState {
  if (galera) return { server, engine: "galera" };
  const [group, singlePrimary] = (replication ?? "").split(",");
  return group ? { server, engine: "group", hasPrimary: singlePrimary !== "OFF" } : { server, engine: "single" };
}

/**
 * The session's variables on a cluster; undefined where there is nothing to set.
 * @param syncReads whether reads see every write that any server of the cluster has acknowledged before
 * @param isLimited whether statements have a time limit
 */
export function clusterStatement(
  node: NodeState,
  { syncReads, isLimited }: { syncReads: boolean; isLimited: boolean },
): string | undefined {
  const variables = [syncReads && syncVariable(node), isLimited && lockVariable(node)].filter(Boolean);
  return variables.length === 0 ? undefined : `SET SESSION ${variables.join(", ")}`;
}

/**
 * On Galera a statement waits until its node has applied what the cluster has committed: 7 is the sum of 1 (reads), 2 (UPDATE,
 * DELETE) and 4 (INSERT, REPLACE). With Group Replication and one primary, all calls go to the primary, which has every write;
 * after a failover the new primary first applies what the old one acknowledged. With several primaries, statements wait.
 */
function syncVariable({ engine, hasPrimary }: NodeState): string | undefined {
  if (engine === "galera") return "wsrep_sync_wait = 7";
  if (engine === "single") return undefined;
  return `group_replication_consistency = '${hasPrimary ? "BEFORE_ON_PRIMARY_FAILOVER" : "BEFORE"}'`;
}

/**
 * In a planned switchover the old primary lets running statements end and blocks new ones; then it becomes read-only. A running
 * statement may wait for a row that a transaction has locked whose next statement is blocked: both wait until one times out.
 * With this variable the blocked one does so after a second (the minimum), and its transaction runs again on the new primary.
 */
function lockVariable({ engine }: NodeState): string | undefined {
  return engine === "group" ? "lock_wait_timeout = 1" : undefined;
}

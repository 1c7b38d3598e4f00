/** What a server says of itself. */
export interface NodeState {
  /** Tells servers behind one address apart: a connection's id is only valid on its own server. */
  server: string;
  /** `galera` and `group` (Group Replication): several servers hold the same data, and a write may meet one on another server. */
  engine: "single" | "galera" | "group";
  /** Whether only one server of a replication group takes writes; undefined for other engines. */
  hasPrimary?: boolean;
}

/** The row of `stateQuery`. */
export interface StateRow {
  server: string;
  /** The name of the plugin; null or empty without one. */
  galera: string | null;
  /** Of Group Replication: the name of the group, and whether it has a single primary, `ON` or `OFF`; null without the plugin. */
  replication: string | null;
}

const groupVariables = "'group_replication_group_name', 'group_replication_single_primary_mode'";

/**
 * Asks a server for its state, in one statement for all engines. Every account may read these tables. Each engine runs its own
 * comments and ignores the others.
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
 * On Galera a read waits until its node has applied what the cluster has committed. 7 is for reads, including the begin of
 * a transaction, and for statements that begin one by changing rows. With Group Replication and one primary, reads go to the
 * primary, which has every write; after a failover the new one first applies what the old one acknowledged. With several
 * primaries, reads wait as on Galera.
 */
function syncVariable({ engine, hasPrimary }: NodeState): string | undefined {
  if (engine === "galera") return "wsrep_sync_wait = 7";
  if (engine === "single") return undefined;
  return `group_replication_consistency = '${hasPrimary ? "BEFORE_ON_PRIMARY_FAILOVER" : "BEFORE"}'`;
}

/**
 * In a planned switchover the old primary becomes read-only once its running statements have ended, and no other may begin
 * meanwhile. If one of them waits for a row of a transaction whose next statement is held up in this way, both wait until one
 * gives up. That transaction then runs again, on the new primary. One second is the least that this variable takes.
 */
function lockVariable({ engine }: NodeState): string | undefined {
  return engine === "group" ? "lock_wait_timeout = 1" : undefined;
}

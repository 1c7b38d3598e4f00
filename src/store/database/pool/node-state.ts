/** What a server says of itself. */
export interface NodeState {
  /** Tells servers behind one address apart: a connection's id is only valid on its own server. */
  server: string;
  /** `galera` and `group` (Group Replication): several servers hold the same data, and a write may meet one on another server. */
  engine: "single" | "galera" | "group";
  /** Whether only one server of a replication group takes writes; undefined for other engines. */
  hasPrimary?: boolean;
  /** Whether it takes writes: it is not read-only, and belongs to its cluster. */
  isWritable: boolean;
}

/** The row of `stateQuery`. */
export interface StateRow {
  server: string;
  readOnly: number;
  /** Variables of the cluster's plugin as `NAME=value`, separated by commas; null without one. */
  plugin: string | null;
}

const groupNames = "'group_replication_group_name', 'group_replication_single_primary_mode'";
const galeraNames = "'WSREP_PROVIDER_NAME', 'WSREP_READY', 'WSREP_CLUSTER_STATUS', 'WSREP_LOCAL_STATE'";
const pairs = "GROUP_CONCAT(CONCAT(UPPER(variable_name), '=', variable_value))";

/**
 * Asks a server for its state, in one statement for all engines. Every account may read these tables. Each engine runs one
 * of the comments and ignores the other; a MariaDB without Galera lacks the variables.
 */
export const stateQuery = `SELECT CONCAT_WS(' ', @@hostname, @@port, @@datadir) AS server,
  @@read_only OR @@innodb_read_only /*!80000 OR @@super_read_only */ AS readOnly,
  /*M!100100 (SELECT ${pairs} FROM information_schema.global_status WHERE variable_name IN (${galeraNames})) */
  /*!80000 (SELECT ${pairs} FROM performance_schema.global_variables WHERE variable_name IN (${groupNames})) */
  AS plugin`;

/** The states of a Galera node that serves: Donor (it gives its data to another node) and Synced. */
const servingStates = ["2", "4"];

/** Reads the row of `stateQuery`. */
export function readState({ server, readOnly, plugin }: StateRow): NodeState {
  const values = new Map((plugin ?? "").split(",").map((pair) => pair.split("=", 2) as [string, string | undefined]));
  const isReadOnly = Number(readOnly) !== 0;
  if (values.get("WSREP_PROVIDER_NAME")) {
    const isMember =
      values.get("WSREP_READY") === "ON" &&
      values.get("WSREP_CLUSTER_STATUS") === "Primary" &&
      servingStates.includes(values.get("WSREP_LOCAL_STATE") ?? "");
    return { server, engine: "galera", isWritable: isMember && !isReadOnly };
  }
  if (!values.get("GROUP_REPLICATION_GROUP_NAME")) return { server, engine: "single", isWritable: !isReadOnly };
  const hasPrimary = values.get("GROUP_REPLICATION_SINGLE_PRIMARY_MODE") !== "OFF";
  return { server, engine: "group", hasPrimary, isWritable: !isReadOnly };
}

/** A row of `membersQuery`. */
export interface MemberRow {
  /** Whether this is the member that was asked. */
  isOwn: number;
  state: string;
}

/** Asks a member of a replication group how it sees the members. */
export const membersQuery = `SELECT member_id = @@server_uuid AS isOwn, member_state AS state
  FROM performance_schema.replication_group_members`;

/**
 * Whether a member of a replication group takes part in it, and sees most of the others. The variables do not tell: a server
 * that has started without its group takes writes that the group never gets, and a COMMIT without a majority waits for ever.
 * @param rows of `membersQuery`
 */
export function isInGroup(rows: readonly MemberRow[]): boolean {
  const isOnline = rows.some(({ isOwn, state }) => Number(isOwn) === 1 && state === "ONLINE");
  const unreachable = rows.filter(({ state }) => state === "UNREACHABLE");
  return isOnline && unreachable.length * 2 < rows.length;
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

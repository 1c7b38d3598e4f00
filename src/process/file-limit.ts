import { readFileSync } from "node:fs";

/** The number of open files besides connections: log, listeners, epoll, and some in reserve. */
const otherFiles = 64;

/**
 * A warning if the process may open fewer files than its settings need. It then still refuses or closes connections, but
 * not in the order that the limits of connections demand.
 * @param maxFiles the limit, if it is known
 * @param connections that clients may have
 * @param databaseConnections that the service may have
 */
export function warnOfFileLimit(
  maxFiles: number | undefined,
  { connections, databaseConnections }: { connections: number; databaseConnections: number },
): string | undefined {
  const needed = connections + databaseConnections + otherFiles;
  if (maxFiles === undefined || maxFiles >= needed) return undefined;
  return (
    `the process may open ${maxFiles} files, and its settings need ${needed}: raise the limit (LimitNOFILE, ulimit -n), ` +
    "or lower STOA_MAX_CONNECTIONS"
  );
}

/** How many files this process may open; undefined if the system does not say. Node has already raised it to the maximum. */
export function readFileLimit(): number | undefined {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
}

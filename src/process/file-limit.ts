import { readFileSync } from "node:fs";

/** Open files besides connections: log, listeners, epoll, and some in reserve. */
const otherFiles = 64;

/**
 * A warning if the process may open fewer files than its settings need. New connections then fail before the limits of
 * connections apply.
 * @param maxFiles the limit of open files, if it is known
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

/** How many files this process may open; undefined if unknown. Node has already raised the limit to its maximum. */
export function readFileLimit(): number | undefined {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
}

import type { Session } from "./session.ts";

/**
 * Whether the database has several servers, as far as its connections tell: a server says so, or they lead to different
 * servers. The address may lead to another server later, so this is asked again when a connection has been made or is gone.
 * @param before what is said while there is no connection
 */
export function seesCluster(sessions: Iterable<Pick<Session, "node">>, before: boolean): boolean {
  // A server that has not answered yet has no name.
  const nodes = [...sessions].map(({ node }) => node).filter(({ server }) => server !== "");
  if (nodes.length === 0) return before;
  return nodes.some(({ engine, server }) => engine !== "single" || server !== nodes[0]?.server);
}

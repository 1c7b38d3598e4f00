import type { Config } from "../config/config.ts";
import type { ServerOptions } from "../http/server.ts";

const MIB = 1024 * 1024;
/** How many connections to the database the supervisor has at most. Its work is in the background. */
const maxSupervisorConnections = 4;
/** Incomplete request bodies, in bytes, over all workers. */
const maxBodies = 32 * MIB;
const maxBodiesPerConnection = 8 * MIB;
/** The part of unsent replies that each worker has at least, in bytes: the largest feed page has 3 MB, and must fit. */
const minUnsent = 8 * MIB;

/** The supervisor's part of the settings: a small part of the connections to the database. */
export function supervisorConfig(config: Config): Config {
  return { ...config, databaseConnections: supervisorConnections(config) };
}

/** A worker's part of the settings. @param worker its place, from 1 on */
export function workerConfig(config: Config, worker: number): Config {
  const { workers, maxUnsentBytes, maxUnsentBytesPerConnection } = config;
  const connections = config.databaseConnections - supervisorConnections(config);
  const unsent = Math.max(Math.floor(maxUnsentBytes / workers), minUnsent);
  return {
    ...config,
    databaseConnections: Math.floor(connections / workers) + (worker <= connections % workers ? 1 : 0),
    maxUnsentBytes: unsent,
    maxUnsentBytesPerConnection: Math.min(maxUnsentBytesPerConnection, unsent),
  };
}

/** A worker's part of the budget for incomplete request bodies. */
export function workerBodies({ workers }: Config): NonNullable<ServerOptions["port"]["bodies"]> {
  const maxTotal = Math.floor(maxBodies / workers);
  return { maxTotal, maxPerConnection: Math.min(maxBodiesPerConnection, maxTotal) };
}

function supervisorConnections({ databaseConnections, workers }: Config): number {
  return Math.min(maxSupervisorConnections, Math.floor(databaseConnections / (workers + 1)));
}

import type { FastifyBaseLogger } from "fastify";
import { type Logger, pino, stdTimeFunctions } from "pino";
import { type Config, describeConfig } from "../config/config.ts";
import { readFileLimit, warnOfFileLimit } from "../process/file-limit.ts";
import { LogOutput, unblocked } from "../process/log-output.ts";

/** A standard stream that does not stop the service, even if nobody reads it. */
export function openOutput(stream: { fd: number; isTTY: boolean }): LogOutput {
  return new LogOutput(unblocked(stream));
}

/** Opens the log: JSON lines on standard output, with ISO 8601 times and level names. */
export function openLog({ logLevel }: Pick<Config, "logLevel">, stdout = openOutput(process.stdout)): Logger {
  const formatters = { level: (level: string) => ({ level }) };
  return pino({ level: logLevel, timestamp: stdTimeFunctions.isoTime, formatters }, stdout);
}

/** Logs the settings and the warnings about them. */
export function logSettings(config: Config, log: FastifyBaseLogger): void {
  log.info(describeConfig(config), "starting");
  for (const warning of config.warnings) log.warn(warning);
  const { maxConnections: connections, databaseConnections } = config;
  const fileWarning = warnOfFileLimit(readFileLimit(), { connections, databaseConnections });
  if (fileWarning !== undefined) log.warn(fileWarning);
}

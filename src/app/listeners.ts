import type { Config } from "../config/config.ts";
import { hostInUrl } from "../config/values.ts";
import { ClientAddresses, countedAddress } from "../http/admission/client-address.ts";
import { RequestLog } from "../http/edge/request-log.ts";
import { Port, type PortOptions } from "../http/port/port.ts";
import { serveStarting } from "../http/starting.ts";
import { MetricsListener } from "../metrics/listener.ts";
import type { Startup } from "./startup.ts";

/** The ports of the service. Until the service is up, they answer 503, and /healthz on the public one 200. */
export interface Listeners {
  port: Port;
  metrics: MetricsListener | undefined;
  /** The address of the service, such as http://127.0.0.1:8080. */
  url: string;
}

/**
 * Opens the ports, before the database is used: a port that is in use then changes nothing there. Only this needs root,
 * which `portOpened` drops.
 * @throws Error with one line for the operator when a port cannot be opened; what `portOpened` throws
 */
export async function openListeners({ config, overrides, log, shutdown }: Startup): Promise<Listeners> {
  const addresses = new ClientAddresses(config.trustProxy);
  const starting = serveStarting({
    addresses,
    requestLog: new RequestLog(log, config.logAddresses),
    shutdown: shutdown.signal,
    transportSecurity: transportSecurityOf(config),
    log,
  });
  const port = new Port(portOptions(config, addresses), starting);
  const number = await port.listen(config);
  shutdown.push(() => port.drained(), "the port");
  const metrics = await MetricsListener.open(config.metrics, log);
  if (metrics !== undefined) shutdown.push(() => metrics.close(), "the metrics");
  await overrides.portOpened?.();
  shutdown.signal.throwIfAborted();
  return { port, metrics, url: `${config.tls ? "https" : "http"}://${hostInUrl(config.host)}:${number}` };
}

/** The value of Strict-Transport-Security; undefined if clients may come without TLS, directly or through a proxy. */
export function transportSecurityOf({ tls, siteUrl }: Config): string | undefined {
  return tls !== undefined || siteUrl?.startsWith("https://") ? "max-age=31536000" : undefined;
}

function portOptions(config: Config, proxies: ClientAddresses): PortOptions {
  return {
    tls: config.tls,
    headersTimeoutMs: 10_000,
    requestTimeoutMs: 60_000,
    idleTimeoutMs: 75_000,
    drainTimeoutMs: config.drainTimeoutMs,
    sendTimeoutMs: config.sendTimeoutMs,
    maxHeldPerConnection: config.maxUnsentBytesPerConnection,
    maxHeld: config.maxUnsentBytes,
    connections: {
      maxConnections: config.maxConnections,
      maxConnectionsPerAddress: config.maxConnectionsPerAddress,
      countAs: countedAddress,
      isProxy: (address) => proxies.trusts(address),
    },
  };
}

import { MetricsListener } from "../http/metrics/listener.ts";
import { type ReservedPort, reservePort } from "../http/port/reserve-port.ts";
import type { Startup } from "./startup.ts";

/** The ports of the service, open before anything else is done. Until the service is up, they answer 503. */
export interface Listeners {
  reserved: ReservedPort;
  metrics: MetricsListener | undefined;
  /** The address of the service, such as http://127.0.0.1:8080. */
  url: string;
}

/**
 * Opens the ports. Only this needs the rights of root, which are then given up by `portOpened`.
 * @throws Error with one line for the operator when a port is in use
 */
export async function openListeners({ config, overrides, log, shutdown }: Startup): Promise<Listeners> {
  const reserved = await reservePort(config, config.tls);
  shutdown.push(() => reserved.close(), "the reserved port");
  const metrics = await MetricsListener.open(config.metrics, log);
  if (metrics !== undefined) shutdown.push(() => metrics.close(), "the metrics");
  await overrides.portOpened?.();
  shutdown.signal.throwIfAborted();
  return { reserved, metrics, url: `${config.tls ? "https" : "http"}://${hostInUrl(config.host)}:${reserved.port}` };
}

function hostInUrl(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

import { startRelay } from "../support/relay.ts";

export interface TcpProxy {
  url: string;
  /** The chunks that clients have sent, as text. */
  sent: string[];
  /** How many of the next replies are lost. The connection is cut after the service has answered. */
  lose: number;
  /** How many of the next replies never arrive, on connections that stay open. */
  withhold: number;
}

/** Starts a proxy that can lose replies of a service. It stops after the last test of the file. */
export async function startProxy(target: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(target);
  const proxy: TcpProxy = { url: "", sent: [], lose: 0, withhold: 0 };
  const relay = await startRelay({ host: hostname, port: Number(port) }, (client, service) => {
    // A reply may come in several chunks: the rest goes the way of the first.
    let isSilent = false;
    client.on("data", (chunk) => {
      proxy.sent.push(chunk.toString("latin1"));
      service.write(chunk);
    });
    service.on("data", (chunk) => {
      if (isSilent || client.destroyed) return;
      if (proxy.lose > 0) {
        proxy.lose--;
        client.destroy();
      } else if (proxy.withhold > 0) {
        proxy.withhold--;
        isSilent = true;
      } else client.write(chunk);
    });
  });
  proxy.url = `http://127.0.0.1:${relay.port}`;
  return proxy;
}

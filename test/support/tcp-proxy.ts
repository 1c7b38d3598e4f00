import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterAll } from "vitest";

export interface TcpProxy {
  url: string;
  /** What clients have sent, a chunk each, as text. */
  sent: string[];
  /** How many of the next replies are lost: the connection is cut when the service has answered. */
  lose: number;
  /** How many of the next replies never arrive, on connections that stay open. */
  withhold: number;
}

/** A way to a service on which replies get lost; it stops after the file's last test. */
export async function startProxy(target: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      // A reset is just an end here; the other side is told by its own.
      socket.on("error", () => undefined);
      socket.once("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    client.on("data", (chunk) => {
      proxy.sent.push(chunk.toString("latin1"));
      upstream.write(chunk);
    });
    upstream.on("data", (chunk) => {
      if (proxy.lose > 0) {
        proxy.lose--;
        client.destroy();
      } else if (proxy.withhold > 0) proxy.withhold--;
      else client.write(chunk);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  });
  const proxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sent: [],
    lose: 0,
    withhold: 0,
  } as TcpProxy;
  return proxy;
}

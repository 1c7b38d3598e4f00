import { type AddressInfo, connect, createServer, type NetConnectOpts, type Server, type Socket } from "node:net";
import { afterFile } from "./after-file.ts";
import { freePort } from "./free-port.ts";

/** A local port that forwards to a server. A test may interfere with the bytes. */
export interface Relay {
  readonly port: number;
  /** Ends every connection, and refuses further ones. */
  close(): Promise<void>;
  /** Takes connections again, at the same port. */
  open(): Promise<void>;
  /** Stops forwarding. Connections stay open and new ones are accepted, but no byte goes through. */
  freeze(): void;
  /** Forwards again, beginning with everything that has arrived meanwhile. */
  thaw(): void;
  /** How many connections clients hold open. */
  readonly clients: number;
  /** How many connections it has taken so far. */
  readonly taken: number;
}

/**
 * Starts a relay, which stops after the last test of the file. The two ends of a connection close together.
 * @param pass gets both ends of each connection, the client's and the server's, and forwards the bytes
 */
export async function startRelay(
  target: NetConnectOpts,
  pass: (client: Socket, server: Socket) => void,
): Promise<Relay> {
  const sockets = new Set<Socket>();
  let clients = 0;
  let taken = 0;
  let isFrozen = false;
  const listen = (port: number): Promise<Server> => {
    const { promise, resolve, reject } = Promise.withResolvers<Server>();
    const listener = createServer((client) => {
      const server = connect(target);
      clients += 1;
      taken += 1;
      client.once("close", () => {
        clients -= 1;
      });
      for (const [socket, other] of [
        [client, server],
        [server, client],
      ] as const) {
        sockets.add(socket);
        // A reset is an ordinary end here. The other side is reset by its own close.
        socket.on("error", () => undefined);
        socket.once("close", () => {
          sockets.delete(socket);
          other.destroy();
        });
      }
      pass(client, server);
      if (isFrozen) for (const socket of [client, server]) socket.pause();
    });
    listener.once("error", reject).listen(port, "127.0.0.1", () => resolve(listener));
    return promise;
  };
  let listener = await listen(await freePort());
  const { port } = listener.address() as AddressInfo;
  const close = async () => {
    if (!listener.listening) return;
    const closed = new Promise((resolve) => listener.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  afterFile(close);
  return {
    port,
    close,
    async open() {
      listener = await listen(port);
    },
    freeze() {
      isFrozen = true;
      for (const socket of sockets) socket.pause();
    },
    thaw() {
      isFrozen = false;
      for (const socket of sockets) socket.resume();
    },
    get clients() {
      return clients;
    },
    get taken() {
      return taken;
    },
  };
}

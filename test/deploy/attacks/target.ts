import net from "node:net";
import tls from "node:tls";

/** What an attack is made on, and what it has done so far. */
export interface Target {
  port: number;
  tally: Record<string, number>;
}

/**
 * Begins an attack, which goes on until its process ends. Resolves when it is in full swing. All of its traffic goes to
 * loopback, from a bounded number of connections.
 */
export type Attack = (target: Target) => Promise<void>;

/** The address of loopback that the nth client has, from 0 on. No other client has it. */
export const clientAddress = (n: number): string => `127.1.${n >> 8}.${(n & 255) + 1}`;

export function count({ tally }: Target, what: string, by = 1): number {
  tally[what] = (tally[what] ?? 0) + by;
  return tally[what];
}

/** A connection that sends nothing by itself. Its errors are ignored, and what arrives is dropped. */
export function connectTcp({ port }: Target, localAddress: string): net.Socket {
  return net
    .connect({ host: "127.0.0.1", port, localAddress })
    .on("error", () => {})
    .resume();
}

export function connectTls({ port }: Target, localAddress: string, protocol: "http/1.1" | "h2"): tls.TLSSocket {
  const names = { servername: "localhost", ALPNProtocols: [protocol], rejectUnauthorized: false };
  const options = { host: "127.0.0.1", port, localAddress, ...names } as tls.ConnectionOptions;
  return tls
    .connect(options)
    .on("error", () => {})
    .resume();
}

/**
 * Keeps a number of connections open, and opens another for each that has closed.
 * @param open opens the nth
 * @param begin does with it what it is for
 * @param atOnce how many are opened before the first of them has begun
 * @returns when all have begun once, or were closed
 */
export async function keepOpen<Socket extends net.Socket>(
  number: number,
  open: (n: number) => Socket,
  begin: (socket: Socket, n: number) => Promise<void> | void,
  atOnce = number,
): Promise<void> {
  const first: Promise<void>[] = [];
  for (let n = 0; n < number; n++) {
    const { promise, resolve } = Promise.withResolvers<void>();
    first.push(promise);
    const again = () => {
      const socket = open(n);
      const event = socket instanceof tls.TLSSocket ? "secureConnect" : "connect";
      socket.once(event, () => void Promise.resolve(begin(socket, n)).then(resolve));
      // Those that are turned away come again, but not at once: this shall not be a flood.
      socket.once("close", () => {
        resolve();
        setTimeout(again, 250);
      });
    };
    again();
    await first[n - atOnce];
    // Not all in one turn of the event loop.
    if (n % 50 === 49) await new Promise((next) => setImmediate(next));
  }
  await Promise.all(first);
}

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

interface Connection {
  running: Set<ServerResponse>;
  /** `bytesRead` when the connection last became idle: more than that means that a request has begun to arrive. */
  idleAt: number;
}

/**
 * The HTTP/1.1 connections of a port. Node's `closeIdleConnections()` would not do for a graceful end: it also destroys
 * connections whose last reply has been ended but not yet flushed.
 */
export class Http1Connections {
  readonly #connections = new Map<Socket, Connection>();
  #draining = false;

  /** Serves a new connection by Node's own listener. */
  serve(socket: Socket, listener: (socket: Socket) => void): void {
    if (socket.destroyed) return;
    // What sniffing left in the buffer belongs to a request already.
    this.#connections.set(socket, { running: new Set(), idleAt: socket.bytesRead - socket.readableLength });
    socket.once("close", () => this.#connections.delete(socket));
    listener(socket);
  }

  /** Follows one exchange to its end. */
  track({ socket }: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connections.get(socket);
    if (!connection) return;
    connection.running.add(response);
    if (this.#draining) closeWithLast(connection);
    response.once("close", () => {
      connection.running.delete(response);
      connection.idleAt = socket.bytesRead;
      // A reply whose head went out before the drain promised to keep the connection.
      if (this.#draining && connection.running.size === 0) socket.destroySoon();
    });
  }

  /** Whether bytes of a reply are on the wire that a raw reply would corrupt. */
  hasBegunReply(socket: Socket): boolean {
    const running = this.#connections.get(socket)?.running;
    return running !== undefined && [...running].some((response) => response.headersSent);
  }

  /** Closes idle connections, and sees to it that the others end with their next reply. */
  drain(): void {
    this.#draining = true;
    for (const [socket, connection] of this.#connections) {
      if (connection.running.size > 0) closeWithLast(connection);
      else if (socket.bytesRead === connection.idleAt) socket.destroySoon();
    }
  }
}

/** Only the last of pipelined replies may announce the close: Node drops whatever stands behind the one that does. */
function closeWithLast({ running }: Connection): void {
  const last = [...running].at(-1);
  for (const response of running) response.shouldKeepAlive = response !== last;
}

import net from "node:net";
import { countedAddress } from "../admission/client-address.ts";
import { type ClientErrorReply, rawReply } from "./client-error.ts";
import type { ConnectionLimits } from "./connection-caps.ts";
import type { PortAddress } from "./reserve-port.ts";

/** A process that serves connections. It reports what becomes of them to the acceptor. */
export interface Receiver {
  /** Sends a connection to the process. It calls `Acceptor.taken`, and `Acceptor.closed` once the connection is closed. */
  send(id: number, socket: net.Socket): void;
  /** Asks the process to close an idle connection. It calls `Acceptor.closed`, or `Acceptor.foundNoneIdle`. */
  closeIdle(): void;
}

export interface AcceptorOptions extends ConnectionLimits {
  /** Makes the reply to a connection over the limit; undefined where clients expect TLS. */
  tooManyReply: (() => ReturnType<ClientErrorReply>) | undefined;
  /** Makes the reply to a connection that no process takes. */
  nobodyReply: (() => ReturnType<ClientErrorReply>) | undefined;
}

interface Connection {
  id: number;
  /** The address, as it is counted. */
  address: string;
  /** The socket, until a receiver has taken it. Nothing is read from it here. */
  socket: net.Socket | undefined;
  receiver: Receiver | undefined;
  /** When it was sent to that process, by `performance.now()`. */
  sentAt: number;
  /** Ends the wait for a receiver. */
  timer: NodeJS.Timeout | undefined;
}

/** How many connections may wait until others are closed. */
const maxWaiting = 64;
/** How long a connection may wait for a process that takes it, in milliseconds. */
const waitMs = 10_000;
/** A process that has not taken a connection for so long gets no further ones until it has, in milliseconds. */
const stuckMs = 500;
/** The pause after a search that found no idle connection, in milliseconds. */
const searchPauseMs = 100;

/** What is known of a process. */
interface Load {
  /** How many connections it has. */
  count: number;
  /** Those that it has not taken yet, the oldest first. */
  readonly sent: Set<Connection>;
}

/**
 * Accepts the connections of the service, and sends each to the process that has the fewest, among those that take them. The limits of connections are
 * held here, over all processes. A connection that a process has not taken when it ends goes to another one.
 */
export class Acceptor {
  readonly #options: AcceptorOptions;
  readonly #server: net.Server;
  readonly #connections = new Map<number, Connection>();
  readonly #perAddress = new Map<string, number>();
  /** The processes. The one that was chosen last comes last. */
  readonly #receivers = new Map<Receiver, Load>();
  /** The connections that wait until another one is closed. They are not counted yet. */
  readonly #waiting: net.Socket[] = [];
  /** The processes that have not been asked for an idle connection yet, while somebody waits. */
  #unasked: Receiver[] | undefined;
  #searchAt = 0;
  #lastId = 0;

  constructor(options: AcceptorOptions) {
    this.#options = options;
    this.#server = net.createServer({ pauseOnConnect: true, allowHalfOpen: true }, (socket) => this.#accept(socket));
  }

  /** Begins to accept connections. */
  async listen(address: PortAddress): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once("error", reject).listen(address, resolve);
    await promise;
    // A connection that could not be accepted is lost, and the next one may be accepted.
    this.#server.removeListener("error", reject).on("error", () => {});
  }

  /** Adds a process that takes connections from now on. */
  add(receiver: Receiver): void {
    this.#receivers.set(receiver, { count: 0, sent: new Set() });
    for (const connection of this.#connections.values()) {
      if (connection.receiver === undefined) this.#place(connection);
    }
  }

  /** Removes a process that takes no further connections. Those that it has not taken go to others. */
  remove(receiver: Receiver): void {
    this.#receivers.delete(receiver);
    if (this.#unasked !== undefined) {
      // It may be the one that was asked.
      this.#unasked = this.#unasked.filter((each) => each !== receiver);
      this.foundNoneIdle();
    }
    for (const connection of this.#connections.values()) {
      if (connection.receiver !== receiver || connection.socket === undefined) continue;
      connection.receiver = undefined;
      this.#place(connection);
    }
  }

  /** Forgets the connections of a process that has ended. */
  end(receiver: Receiver): void {
    this.remove(receiver);
    const own = [...this.#connections.values()].filter((connection) => connection.receiver === receiver);
    this.closed(own.map(({ id }) => id));
  }

  /** A process has taken a connection: it is no longer needed here. */
  taken(id: number): void {
    const connection = this.#connections.get(id);
    if (connection === undefined) return;
    connection.socket?.destroy();
    connection.socket = undefined;
    if (connection.receiver !== undefined) this.#receivers.get(connection.receiver)?.sent.delete(connection);
  }

  /** These connections are closed. */
  closed(ids: readonly number[]): void {
    for (const id of ids) this.#remove(id);
    while (this.#waiting.length > 0 && this.#connections.size < this.#options.maxConnections) {
      this.#admit(this.#waiting.shift() as net.Socket);
    }
    this.#unasked = undefined;
    if (this.#waiting.length > 0) this.#makeRoom();
  }

  /** The process that was asked has no idle connection. */
  foundNoneIdle(): void {
    const next = this.#unasked?.shift();
    if (next !== undefined) {
      next.closeIdle();
      return;
    }
    this.#unasked = undefined;
    if (this.#waiting.length > 0) this.#searchAt = performance.now() + searchPauseMs;
    for (const socket of this.#waiting.splice(0)) this.#refuse(socket, this.#options.tooManyReply);
  }

  /** Stops accepting, and closes the connections that no process has taken. */
  async close(): Promise<void> {
    this.#server.close();
    for (const socket of this.#waiting.splice(0)) socket.destroy();
    for (const { id, socket, receiver } of [...this.#connections.values()]) {
      if (receiver !== undefined) continue;
      socket?.destroy();
      this.#remove(id);
    }
  }

  #accept(socket: net.Socket): void {
    socket.on("error", () => {});
    if (this.#connections.size < this.#options.maxConnections) {
      this.#admit(socket);
      return;
    }
    const isFull = this.#countOf(socket) === undefined;
    if (isFull || this.#waiting.length >= maxWaiting || performance.now() < this.#searchAt) {
      this.#refuse(socket, this.#options.tooManyReply);
      return;
    }
    this.#waiting.push(socket);
    if (this.#unasked === undefined) this.#makeRoom();
  }

  /** Counts a connection, and sends it to a process. */
  #admit(socket: net.Socket): void {
    const count = this.#countOf(socket);
    if (count === undefined) {
      this.#refuse(socket, this.#options.tooManyReply);
      return;
    }
    const address = countedAddress(socket.remoteAddress ?? "");
    this.#perAddress.set(address, count + 1);
    this.#lastId += 1;
    const connection: Connection = {
      id: this.#lastId,
      address,
      socket,
      receiver: undefined,
      sentAt: 0,
      timer: undefined,
    };
    this.#connections.set(connection.id, connection);
    this.#place(connection);
  }

  /** How many connections the address of this one has; undefined if it may not have another. */
  #countOf({ remoteAddress = "" }: net.Socket): number | undefined {
    const { maxConnectionsPerAddress, isProxy } = this.#options;
    const count = this.#perAddress.get(countedAddress(remoteAddress)) ?? 0;
    return count < maxConnectionsPerAddress || isProxy(remoteAddress) ? count : undefined;
  }

  /** Sends a connection to a process; without any, the connection waits. */
  #place(connection: Connection): void {
    const { id, socket } = connection;
    if (socket === undefined) return;
    const now = performance.now();
    const chosen = this.#choose(now);
    if (chosen === undefined) {
      connection.timer ??= setTimeout(() => {
        this.#remove(id);
        this.#refuse(socket, this.#options.nobodyReply);
      }, waitMs).unref();
      return;
    }
    clearTimeout(connection.timer);
    connection.timer = undefined;
    const [receiver, load] = chosen;
    connection.receiver = receiver;
    connection.sentAt = now;
    load.count += 1;
    load.sent.add(connection);
    this.#receivers.delete(receiver);
    this.#receivers.set(receiver, load);
    receiver.send(id, socket);
  }

  /** The process with the fewest connections. One that is stuck is only chosen if all are. */
  #choose(now: number): [Receiver, Load] | undefined {
    let chosen: [Receiver, Load] | undefined;
    let isChosenStuck = true;
    for (const each of this.#receivers) {
      const [, { count, sent }] = each;
      const [oldest] = sent;
      const isStuck = oldest !== undefined && now - oldest.sentAt >= stuckMs;
      if (chosen !== undefined && (isStuck === isChosenStuck ? count >= chosen[1].count : isStuck)) continue;
      chosen = each;
      isChosenStuck = isStuck;
    }
    return chosen;
  }

  #remove(id: number): void {
    const connection = this.#connections.get(id);
    if (connection === undefined) return;
    const { address, receiver, timer } = connection;
    clearTimeout(timer);
    this.#connections.delete(id);
    const count = (this.#perAddress.get(address) ?? 0) - 1;
    if (count > 0) this.#perAddress.set(address, count);
    else this.#perAddress.delete(address);
    const load = receiver && this.#receivers.get(receiver);
    if (load === undefined) return;
    load.count -= 1;
    load.sent.delete(connection);
  }

  /** Asks one process after the other for an idle connection, first those with the most connections. */
  #makeRoom(): void {
    this.#unasked = [...this.#receivers]
      .sort(([, one], [, other]) => other.count - one.count)
      .map(([receiver]) => receiver);
    this.foundNoneIdle();
  }

  #refuse(socket: net.Socket, reply: (() => ReturnType<ClientErrorReply>) | undefined): void {
    if (reply === undefined) socket.destroy();
    else socket.end(rawReply(reply()), () => socket.destroy());
  }
}

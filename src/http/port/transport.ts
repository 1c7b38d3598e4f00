// What a TCP socket has really sent. Node counts bytes as written while they still wait in this process.
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";

interface Handle {
  bytesWritten: number;
  writeQueueSize: number;
  /** Whether `net.Socket` reads; kept by it. */
  reading: boolean;
  readStop(): void;
  readStart(): void;
}

/** The bytes that the operating system has taken. */
export function sentBytes(socket: Socket): number {
  const handle = handleOf(socket);
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0;
}

/** The bytes that wait in this process for the operating system. */
export function waitingBytes(socket: Socket): number {
  return handleOf(socket)?.writeQueueSize ?? 0;
}

/** The TCP sockets under TLS sockets, and the other way round. */
const transports = new WeakMap<Socket, Socket>();
const carried = new WeakMap<Socket, TLSSocket>();

/** To be called for each TLS socket, before anything else is done with it. @param transport the TCP socket under it */
export function noteTls(socket: TLSSocket, transport: Socket): void {
  transports.set(socket, transport);
  carried.set(transport, socket);
}

/**
 * Resets a connection, so that the operating system drops its unsent bytes, too.
 * @param socket the TCP socket
 */
export function cutSocket(socket: Socket): void {
  if (socket.destroyed) return;
  // libuv does not reset a socket that is being shut down. Node takes it for closed even so, and it would stay open for ever.
  if (isShuttingDown(socket) || isShuttingDown(carried.get(socket))) socket.destroy();
  else socket.resetAndDestroy();
}

/** Whether all bytes of an ended socket have been passed to the operating system, and the shutdown has not been confirmed. */
function isShuttingDown(socket: Socket | undefined): boolean {
  return socket?.writableEnded === true && socket.writableLength === 0 && !socket.writableFinished;
}

/** Stops reading a socket, also where an HTTP/2 session or TLS reads it in native code. */
export function stopReading(socket: Socket): void {
  const handle = handleOf(socket);
  if (!handle) return;
  handle.reading = false;
  handle.readStop();
}

/**
 * Reads a socket again after `stopReading`. Node itself does not read an HTTP/2 session while a write is in progress, and
 * continues after that.
 */
export function startReading(socket: Socket): void {
  const handle = handleOf(socket);
  if (!handle || socket.destroyed || handle.writeQueueSize > 0) return;
  handle.reading = true;
  handle.readStart();
}

/** The TCP socket of a connection: the one under TLS, or the socket itself. */
export function transportOf(socket: Socket): Socket {
  return transports.get(socket) ?? socket;
}

function handleOf(socket: Socket): Handle | null | undefined {
  return (socket as { _handle?: Handle | null })._handle;
}

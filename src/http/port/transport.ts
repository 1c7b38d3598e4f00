// What a TCP socket has really sent. Node counts bytes as written while they still wait in this process.
import type { Socket } from "node:net";

interface Handle {
  bytesWritten: number;
  writeQueueSize: number;
  /** Whether `net.Socket` reads; kept by it. */
  reading: boolean;
  readStop(): void;
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

/** Resets a connection, so that the operating system drops its unsent bytes, too. */
export function cutSocket(socket: Socket): void {
  if (!socket.destroyed) socket.resetAndDestroy();
}

/** Stops reading a socket, also where an HTTP/2 session or TLS reads it in native code. */
export function stopReading(socket: Socket): void {
  const handle = handleOf(socket);
  if (!handle) return;
  handle.reading = false;
  handle.readStop();
}

/** The TCP socket of a connection: the one under TLS, or the socket itself. */
export function transportOf(socket: Socket): Socket {
  return (socket as { _parent?: Socket | null })._parent ?? socket;
}

function handleOf(socket: Socket): Handle | null | undefined {
  return (socket as { _handle?: Handle | null })._handle;
}

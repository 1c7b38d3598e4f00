// What a TCP socket has really sent. Node's own figures count bytes as written that wait in this process.
import type { Socket } from "node:net";

interface Handle {
  bytesWritten: number;
  writeQueueSize: number;
}

/** Bytes that have been handed to the system to send. */
export function sentBytes(socket: Socket): number {
  const handle = handleOf(socket);
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0;
}

/** Bytes that wait in this process for the system to take them. */
export function waitingBytes(socket: Socket): number {
  return handleOf(socket)?.writeQueueSize ?? 0;
}

/** Ends a connection by a reset, so that the system keeps nothing for it either. */
export function cutSocket(socket: Socket): void {
  if (!socket.destroyed) socket.resetAndDestroy();
}

/** The TCP socket that carries a connection: what is under TLS, or the socket itself. */
export function transportOf(socket: Socket): Socket {
  return (socket as { _parent?: Socket | null })._parent ?? socket;
}

function handleOf(socket: Socket): Handle | null | undefined {
  return (socket as { _handle?: Handle | null })._handle;
}

import type { Socket } from "node:net";

/** The first bytes of every HTTP/2 client (RFC 9113, section 3.4). */
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/**
 * Reads enough bytes of a new connection to tell HTTP/2 from HTTP/1.1, puts them back, and calls `decided`. If the peer
 * ends the connection first, or has not sent enough after `timeoutMs`, the connection is destroyed.
 */
export function sniff(socket: Socket, timeoutMs: number, decided: (isHttp2: boolean) => void): void {
  let seen: Buffer = Buffer.alloc(0);
  const abandon = () => socket.destroy();
  const timer = setTimeout(abandon, timeoutMs);
  const stop = () => {
    clearTimeout(timer);
    socket.off("readable", onReadable).off("end", abandon).off("close", stop);
  };
  const onReadable = () => {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return; // the end, which has its own event
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    const length = Math.min(seen.length, PREFACE.length);
    const matches = seen.compare(PREFACE, 0, length, 0, length) === 0;
    if (matches && length < PREFACE.length) return;
    stop();
    socket.unshift(seen);
    decided(matches);
  };
  socket.on("readable", onReadable).on("end", abandon).on("close", stop);
}

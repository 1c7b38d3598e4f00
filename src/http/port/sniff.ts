import type { Socket } from "node:net";
import type { ConnectionTimes } from "./connection.ts";

/** The first bytes of every HTTP/2 client (RFC 9113, section 3.4). */
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/**
 * Reads enough bytes of a new connection to tell HTTP/2 from HTTP/1.1, puts them back, and calls `decided`. Destroys the
 * connection if the peer ends it first, sends nothing within `idleTimeoutMs`, or needs longer than `headersTimeoutMs` from its
 * first byte on.
 */
export function sniff(socket: Socket, times: ConnectionTimes, decided: (isHttp2: boolean) => void): void {
  let seen: Buffer = Buffer.alloc(0);
  const abandon = () => socket.destroy();
  let timer = setTimeout(abandon, times.idleTimeoutMs);
  const stop = () => {
    clearTimeout(timer);
    socket.off("readable", onReadable).off("end", abandon).off("close", stop);
  };
  const onReadable = () => {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return; // the end, which has its own event
    if (seen.length === 0) {
      clearTimeout(timer);
      timer = setTimeout(abandon, times.headersTimeoutMs);
    }
    seen = Buffer.concat([seen, chunk]);
    const length = Math.min(seen.length, PREFACE.length);
    const matches = seen.compare(PREFACE, 0, length, 0, length) === 0;
    if (matches && length < PREFACE.length) return;
    stop();
    socket.unshift(seen);
    decided(matches);
  };
  socket.on("readable", onReadable).on("end", abandon).on("close", stop);
}

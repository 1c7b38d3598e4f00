// Connections in numbers, and requests on them of which only a part comes.
import { once } from "node:events";
import net from "node:net";
import {
  connectFrames,
  END_HEADERS,
  END_STREAM,
  type FrameConnection,
  frame,
  frameType,
  headerBlock,
  INITIAL_WINDOW_SIZE,
  ping,
} from "../support/http2-frames.ts";

export interface RawConnection {
  socket: net.Socket;
  closed: Promise<void>;
}

/**
 * Opens connections, so many at a time, and resolves when each has been accepted by the system.
 * @param addresses where they come from, in turn
 * @param begin what each does first; by default it reads
 */
export async function openMany(
  port: number,
  count: number,
  addresses: readonly string[],
  begin: (socket: net.Socket) => void = (socket) => void socket.resume(),
  atOnce = 100,
): Promise<RawConnection[]> {
  const connections: RawConnection[] = [];
  const open = (n: number): RawConnection => {
    const localAddress = addresses[n % addresses.length] as string;
    const socket = net.connect({ port, host: "127.0.0.1", localAddress }).on("error", () => {});
    begin(socket);
    return { socket, closed: new Promise((resolve) => socket.once("close", () => resolve())) };
  };
  while (connections.length < count) {
    const batch = Array.from({ length: Math.min(atOnce, count - connections.length) }, (_, n) =>
      open(connections.length + n),
    );
    await Promise.all(
      batch.map(({ socket, closed }) => Promise.race([once(socket, "connect").catch(() => {}), closed])),
    );
    connections.push(...batch);
  }
  return connections;
}

export function destroy(connections: readonly { socket: net.Socket }[]): void {
  for (const { socket } of connections) socket.destroy();
}

/** A POST, of which parts of the body come. */
export interface HalfPost {
  path: string;
  fields: Record<string, string>;
  parts: readonly Buffer[];
  /** Whether there is no more of the body. */
  isWhole?: boolean;
}

/** Sends this many of them on each of 24 HTTP/2 connections that open no windows, and resolves when they have been read. */
export async function sendHalf(port: number, count: number, post: HalfPost): Promise<FrameConnection[]> {
  const { path, fields, parts, isWhole = false } = post;
  const connections = Array.from({ length: 24 }, () => connectFrames(port, { [INITIAL_WINDOW_SIZE]: 0 }));
  for (const { socket, closed } of connections) {
    for (let id = 1; id < 2 * count; id += 2) {
      socket.write(frame(frameType.headers, END_HEADERS, id, headerBlock("POST", path, fields)));
      for (const part of parts) {
        const end = isWhole && part === parts.at(-1) ? END_STREAM : 0;
        socket.write(frame(frameType.data, end, id, part));
      }
    }
    // The answer to a PING tells that what stands before it has been read.
    await Promise.race([new Promise((resolve) => socket.write(ping, resolve)), closed]);
  }
  await Promise.all(connections.map(({ received }) => received(({ type }) => type === frameType.ping)));
  return connections;
}

// HTTP/2 frames (RFC 9113), for requests that no client library sends.
import net from "node:net";

export const frameType = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;
export const END_STREAM = 1;
export const END_HEADERS = 4;

export const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

export function frame(type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

export function settings(values: Record<number, number> = {}): Buffer {
  const payload = Object.entries(values).map(([name, value]) => {
    const entry = Buffer.alloc(6);
    entry.writeUInt16BE(Number(name), 0);
    entry.writeUInt32BE(value, 2);
    return entry;
  });
  return frame(frameType.settings, 0, 0, Buffer.concat(payload));
}

export const ping = frame(frameType.ping, 0, 0, Buffer.alloc(8));

/** The setting that says how much a server may send on a stream before the client opens its window further. */
export const INITIAL_WINDOW_SIZE = 4;

export function windowUpdate(stream: number, increment: number): Buffer {
  return frame(frameType.windowUpdate, 0, stream, uint32(increment));
}

export function rstStream(stream: number, code: number): Buffer {
  return frame(frameType.rstStream, 0, stream, uint32(code));
}

/** The head of a request, as a block of HPACK literals without indexing (RFC 7541, section 6.2.2). */
export function headerBlock(method: string, path: string, fields: Record<string, string> = {}): Buffer {
  const all = { ":method": method, ":scheme": "http", ":path": path, ":authority": "stoa", ...fields };
  return Buffer.concat(Object.entries(all).map(([name, value]) => field(name, value)));
}

/** One header field, as an HPACK literal without indexing. */
export function field(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0]), hpackString(name), hpackString(value)]);
}

/** The frame of a whole request without a body. */
export function get(stream: number, path: string, fields?: Record<string, string>): Buffer {
  return frame(frameType.headers, END_STREAM | END_HEADERS, stream, headerBlock("GET", path, fields));
}

/** A message as gRPC frames it, and Connect and gRPC-Web too. @param flags 1: it is compressed */
export function envelope(message: Uint8Array, flags = 0): Buffer {
  return Buffer.concat([Buffer.from([flags]), uint32(message.length), message]);
}

/** The frames of a whole call of gRPC. */
export function grpcCall(stream: number, path: string, message: Uint8Array, fields?: Record<string, string>): Buffer {
  const head = headerBlock("POST", path, { "content-type": "application/grpc", te: "trailers", ...fields });
  return Buffer.concat([
    frame(frameType.headers, END_HEADERS, stream, head),
    frame(frameType.data, END_STREAM, stream, envelope(message)),
  ]);
}

export interface FrameConnection {
  socket: net.Socket;
  /** Resolves when the connection has closed. */
  closed: Promise<void>;
  /** Resolves with the first frame that has been or will be received and matches; undefined when the connection ends first. */
  received(matches: (frame: ReceivedFrame) => boolean): Promise<ReceivedFrame | undefined>;
  /** The frames that have been received so far, without the payloads of DATA frames. */
  frames: ReceivedFrame[];
}

export interface ReceivedFrame {
  type: number;
  flags: number;
  stream: number;
  length: number;
  payload: Buffer;
}

/**
 * Connects, sends the preface and settings, and reads frames. Nothing is acknowledged and no window is opened.
 * @param localAddress where it connects from; by default the system chooses
 */
export function connectFrames(
  port: number,
  values: Record<number, number> = {},
  localAddress?: string,
): FrameConnection {
  const socket = net.connect({ port, host: "127.0.0.1", ...(localAddress === undefined ? {} : { localAddress }) });
  const frames: ReceivedFrame[] = [];
  let buffered = Buffer.alloc(0);
  const wake: (() => void)[] = [];
  let isClosed = false;
  const tell = () => {
    for (const resolve of wake.splice(0)) resolve();
  };
  socket.on("error", () => {});
  socket.on("data", (chunk: Buffer) => {
    buffered = Buffer.concat([buffered, chunk]);
    for (;;) {
      if (buffered.length < 9) break;
      const length = buffered.readUIntBE(0, 3);
      if (buffered.length < 9 + length) break;
      const [type = 0, flags = 0] = [buffered[3], buffered[4]];
      const payload = type === frameType.data ? Buffer.alloc(0) : Buffer.from(buffered.subarray(9, 9 + length));
      frames.push({ type, flags, stream: buffered.readUInt32BE(5) & 0x7fffffff, length, payload });
      buffered = buffered.subarray(9 + length);
    }
    tell();
  });
  const closed = new Promise<void>((resolve) =>
    socket.once("close", () => {
      isClosed = true;
      tell();
      resolve();
    }),
  );
  socket.write(Buffer.concat([Buffer.from(PREFACE), settings(values)]));
  return {
    socket,
    closed,
    frames,
    async received(matches) {
      for (let seen = 0; ; ) {
        for (; seen < frames.length; seen++) if (matches(frames[seen] as ReceivedFrame)) return frames[seen];
        if (isClosed) return undefined;
        await new Promise<void>((resolve) => wake.push(resolve));
      }
    },
  };
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function hpackString(text: string): Buffer {
  const bytes = Buffer.from(text, "latin1");
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  // An integer that does not fit into the prefix (RFC 7541, section 5.1).
  const length = [127];
  let rest = bytes.length - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) length.push((rest % 128) | 128);
  return Buffer.concat([Buffer.from([...length, rest]), bytes]);
}

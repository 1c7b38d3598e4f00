import type { ServerHttp2Stream } from "node:http2";
import type { Member } from "./member-list.ts";
import type { Progress } from "./send-watch.ts";

/** A reply that has begun. */
export interface StartedReply {
  written: number;
  /** The known length of the whole reply: its content-length, or the bytes written so far. */
  total: number;
  /** Undefined until it is first checked. */
  progress: Progress | undefined;
}

/** The session of a stream. */
interface Connection {
  /** Handles a request when its turn comes. */
  take(open: PortStream, work: () => void): void;
  /** The client has reset a stream. */
  onReset(open: PortStream): void;
  /** The reply of a stream has been passed to the operating system, or the stream was reset. */
  onFinish(open: PortStream): void;
  onClose(open: PortStream): void;
}

export type WriteCallback = (error?: Error | null) => void;

/** What writes to the streams of a session. */
interface StreamWriter {
  write(
    open: PortStream,
    chunk: string | Uint8Array,
    encoding: BufferEncoding,
    done: WriteCallback | undefined,
  ): boolean;
}

/** The property of a stream that holds what the port knows of it. */
const portStream = Symbol("portStream");

interface Followed {
  [portStream]?: PortStream | undefined;
}

/**
 * What the port knows of an open HTTP/2 stream. All is in one object with shared functions as listeners, because a session
 * may have thousands of short streams a second.
 */
export class PortStream implements Member {
  readonly stream: ServerHttp2Stream;
  readonly connection: Connection;
  readonly sender: StreamWriter;
  /** Whether the request had no body. */
  readonly hadEnded: boolean;
  place = -1;
  /** The reply, once it has begun. */
  reply: StartedReply | undefined = undefined;
  /** When its request began to be handled; undefined before that, and once the reply has begun. */
  workingSince: number | undefined = undefined;
  /** Whether its request is not handled before the body has arrived. */
  isArriving = false;
  /** Begins to handle the request, once the body has arrived. */
  begin: (() => void) | undefined = undefined;
  /** Whether a reset has been counted. */
  isCounted = false;
  /** By when the request must have arrived, by `performance.now()`. */
  deadline = Number.POSITIVE_INFINITY;
  /** The memory that is counted for the body. */
  body: { release(): void } | undefined = undefined;
  /** The trailers of the reply. */
  trailers: Record<string, string> | undefined = undefined;
  /** Called when the stream has closed. */
  onEnd: (() => void) | undefined = undefined;

  constructor(stream: ServerHttp2Stream, connection: Connection, sender: StreamWriter, hadEnded: boolean) {
    this.stream = stream;
    this.connection = connection;
    this.sender = sender;
    this.hadEnded = hadEnded;
    (stream as Followed)[portStream] = this;
  }

  /** Tells the session what happens. */
  follow(): void {
    this.stream.on("aborted", onAborted).on("finish", onFinish).on("close", onClose).on("error", onError);
  }
}

/** What the port knows of a stream; undefined of one that it does not follow. */
export function portStreamOf(stream: ServerHttp2Stream): PortStream | undefined {
  return (stream as Followed)[portStream];
}

function onAborted(this: ServerHttp2Stream): void {
  const open = portStreamOf(this);
  open?.connection.onReset(open);
}

function onFinish(this: ServerHttp2Stream): void {
  const open = portStreamOf(this);
  open?.connection.onFinish(open);
}

function onClose(this: ServerHttp2Stream): void {
  const open = portStreamOf(this);
  open?.connection.onClose(open);
  open?.onEnd?.();
  // Some of Node's functions for a stream are in the old generation of V8 and keep it for a while; see `destroyInTurn`.
  (this as Followed)[portStream] = undefined;
}

/** The peer's fault, or the consequence of a cut. Its stream closes after that. */
function onError(): void {}

/** For the `wantTrailers` event of a stream: sends the trailers of its reply. */
export function sendTrailers(this: ServerHttp2Stream): void {
  this.sendTrailers(portStreamOf(this)?.trailers ?? {});
}

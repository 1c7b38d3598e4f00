import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import {
  type Client,
  type ClientDuplexStream,
  credentials,
  makeClientConstructor,
  type ServiceClientConstructor,
} from "@grpc/grpc-js";
import { loadSync, type ServiceDefinition } from "@grpc/proto-loader";
import { afterFile } from "../support/after-file.ts";

// biome-ignore lint/suspicious/noExplicitAny: the messages are as gRPC's own proto file has them, untyped.
type Response = any;

const protos = join(dirname(createRequire(import.meta.url).resolve("@grpc/reflection")), "..", "proto");

/** gRPC's own definition of the protocol: ours could not lie to it. */
const definition = loadSync("grpc/reflection/v1/reflection.proto", {
  includeDirs: [protos],
  keepCase: true,
  oneofs: true,
})["grpc.reflection.v1.ServerReflection"] as ServiceDefinition;

/** One stream of the reflection protocol. */
export class ReflectionStream {
  readonly ended: Promise<number>;
  readonly #stream: ClientDuplexStream<object | Buffer, Response>;
  readonly #replies: ((reply: Response) => void)[] = [];

  constructor(stream: ClientDuplexStream<object | Buffer, Response>) {
    this.#stream = stream;
    stream.on("data", (reply) => this.#replies.shift()?.(reply));
    stream.on("error", () => {});
    this.ended = new Promise((resolve) => stream.on("status", ({ code }) => resolve(code)));
  }

  /** Sends a request and resolves with the response to it. @throws Error when the stream ends instead */
  ask(request: object): Promise<Response> {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    this.#replies.push(resolve);
    void this.ended.then((code) => reject(new Error(`the stream ended with status ${code}`)));
    this.#stream.write(request);
    return promise;
  }

  /** Sends bytes that need not be a message. */
  send(bytes: Buffer): void {
    this.#stream.write(bytes);
  }

  end(): void {
    this.#stream.end();
  }
}

/** A client that is closed after the file's last test. */
export function createReflectionClient(url: string) {
  const method = definition.ServerReflectionInfo as NonNullable<ServiceDefinition[string]>;
  const serialize = (request: object) => (request instanceof Buffer ? request : method.requestSerialize(request));
  const raw = { ServerReflectionInfo: { ...method, requestSerialize: serialize } };
  const Constructor: ServiceClientConstructor = makeClientConstructor(raw as never, "ServerReflection");
  const client = new Constructor(new URL(url).host, credentials.createInsecure()) as unknown as Client & {
    ServerReflectionInfo(): ClientDuplexStream<object, Response>;
  };
  afterFile(() => client.close());
  return { open: () => new ReflectionStream(client.ServerReflectionInfo()) };
}

import { type ClientHttp2Session, connect, type SecureClientSessionOptions } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { GetPostRequestSchema } from "../../gen/stoa/v1/post_service_pb.js";

/** Reads a post by gRPC, again and again over one session. When that has ended, it begins another. */
export class GrpcReader {
  readonly #site: { port: number; ca: string };
  readonly #localAddress: string;
  readonly #frame: Buffer;
  #session: ClientHttp2Session | undefined;

  constructor(site: { port: number; ca: string }, localAddress: string, postId: bigint) {
    const message = toBinary(GetPostRequestSchema, create(GetPostRequestSchema, { id: postId }));
    this.#frame = Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]);
    this.#site = site;
    this.#localAddress = localAddress;
  }

  /**
   * Reads it. A call that was refused before anything was done for it is made again, as clients of gRPC do.
   * @returns 200 for the status OK, and otherwise what there was instead of it
   * @throws Error if there was no reply
   */
  async read(): Promise<number | string> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#call();
      } catch (error) {
        // A server that goes away refuses what comes after its GOAWAY (RFC 9113, section 8.7).
        if (tries === 3 || !String(error).includes("REFUSED_STREAM")) throw error;
        this.close();
      }
    }
  }

  #call(): Promise<number | string> {
    const headers = { "content-type": "application/grpc", te: "trailers" };
    const stream = this.#open().request({ ":method": "POST", ":path": "/stoa.v1.PostService/GetPost", ...headers });
    let status: string | undefined;
    stream.once("response", (fields) => {
      status =
        fields["grpc-status"]?.toString() ?? (fields[":status"] === 200 ? undefined : `HTTP ${fields[":status"]}`);
    });
    stream.once("trailers", (fields) => {
      status = fields["grpc-status"]?.toString();
    });
    return new Promise((resolve, reject) => {
      stream.once("error", reject);
      stream.once("close", () => resolve(status === "0" ? 200 : `gRPC ${status}`));
      stream.resume().end(this.#frame);
    });
  }

  close(): void {
    this.#session?.destroy();
  }

  #open(): ClientHttp2Session {
    if (this.#session === undefined || this.#session.closed || this.#session.destroyed) {
      const { port, ca } = this.#site;
      const options = { ca, family: 4, localAddress: this.#localAddress } as SecureClientSessionOptions;
      this.#session = connect(`https://localhost:${port}`, options).on("error", () => {});
    }
    return this.#session;
  }
}

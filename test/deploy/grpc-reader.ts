import type { SecureClientSessionOptions } from "node:http2";
import { type Client, createClient } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";

/** Reads a post by gRPC, again and again over one session. When that has ended, it begins another. */
export class GrpcReader {
  readonly #sessions: Http2SessionManager;
  readonly #client: Client<typeof PostService>;
  readonly #id: bigint;

  constructor({ port, ca }: { port: number; ca: string }, localAddress: string, postId: bigint) {
    const baseUrl = `https://localhost:${port}`;
    const options = { ca, family: 4, localAddress } as SecureClientSessionOptions;
    this.#sessions = new Http2SessionManager(baseUrl, {}, options);
    this.#client = createClient(PostService, createGrpcTransport({ baseUrl, sessionManager: this.#sessions }));
    this.#id = postId;
  }

  /**
   * Reads it. A call that was refused before anything was done for it is made again, as clients of gRPC do.
   * @returns 200 for the status OK
   * @throws Error if it had another status, or no reply
   */
  async read(): Promise<200> {
    for (let tries = 1; ; tries++) {
      try {
        await this.#client.getPost({ id: this.#id });
        return 200;
      } catch (error) {
        // A server that goes away refuses what comes after its GOAWAY (RFC 9113, section 8.7).
        if (tries === 3 || !String(error).includes("REFUSED_STREAM")) throw error;
        this.close();
      }
    }
  }

  close(): void {
    this.#sessions.abort();
  }
}

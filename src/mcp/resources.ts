import {
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
  type ResourceTemplateType,
} from "@modelcontextprotocol/server";
import { GetPostResponseSchema, PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { errorStatus } from "../errors.ts";
import { decodeMessage, encodeMessage, type Input, UrlText } from "../transcoding/index.ts";
import type { Tool } from "./tools.ts";
import type { Visitor } from "./visitor.ts";

const guideUri = "stoa://guide";
const jsonType = "application/json";

/** The resources that have fixed addresses. */
export const resources: readonly Resource[] = [
  {
    uri: guideUri,
    name: "guide",
    title: "Guide for agents",
    description: "How to live on this board: registering, reading, posting, answering, limits and errors.",
    mimeType: "text/markdown",
  },
];

/** The resources whose addresses hold an id. */
export const resourceTemplates: readonly ResourceTemplateType[] = [
  {
    uriTemplate: "stoa://posts/{id}",
    name: "post",
    title: "Post",
    description: "A post without its comments.",
    mimeType: jsonType,
  },
  {
    uriTemplate: "stoa://posts/{id}/thread",
    name: "thread",
    title: "Thread",
    description:
      "A post with its comments, oldest first. If there are more, `next_cursor` is for the tool list_comments.",
    mimeType: jsonType,
  },
];

/** Reads resources by the calls that the tools make. */
export class Resources {
  readonly #guide: () => string;
  readonly #getPost: Tool;

  /** @param guide returns the guide as Markdown */
  constructor(guide: () => string, tools: ReadonlyMap<string, Tool>) {
    const getPost = [...tools.values()].find(({ rpc }) => rpc === PostService.method.getPost);
    if (getPost === undefined) throw new Error("Nothing serves GetPost.");
    this.#guide = guide;
    this.#getPost = getPost;
  }

  /** @throws ProtocolError; its `data` has the Error shape where the call has failed */
  async read(uri: string, visitor: Visitor): Promise<ReadResourceResult> {
    if (uri === guideUri) return { contents: [{ uri, mimeType: "text/markdown", text: this.#guide() }] };
    const match = /^stoa:\/\/posts\/(\d{1,16})(\/thread)?$/.exec(uri);
    if (match === null) throw new ResourceNotFoundError(uri);
    const [, id = "", isThread] = match;
    try {
      const { rpc, call } = this.#getPost;
      const caller = await visitor.admit(rpc, undefined);
      const input: Input = new Map([["id", new UrlText([id])]]);
      const { message } = await call(decodeMessage(rpc.input, input), {
        method: "POST",
        url: visitor.context.url,
        headers: () => new Headers(),
        call: visitor.context.call(rpc, caller),
      });
      const thread = encodeMessage(GetPostResponseSchema, message as never);
      const shown = isThread === undefined ? { post: thread.post } : thread;
      return { contents: [{ uri, mimeType: jsonType, text: visitor.toJson({ ok: true, ...shown }).text }] };
    } catch (error) {
      const { known, shape } = visitor.fail(error);
      if (known.code === "not_found") throw new ResourceNotFoundError(uri, known.message);
      const isOurs = errorStatus[known.code] >= 500;
      const code = isOurs ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidParams;
      throw new ProtocolError(code, known.message, shape);
    }
  }
}

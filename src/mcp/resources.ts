import {
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
  type ResourceTemplateType,
} from "@modelcontextprotocol/server";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { errorStatus } from "../errors.ts";
import { IgnoredInput, type Input, JsonNumber } from "../transcoding/index.ts";
import { makeCall, toText } from "./tool-calls.ts";
import type { Tool, ToolCall } from "./tools.ts";
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
    description: "A post with its first comments, as the tool get_post returns it.",
    mimeType: jsonType,
  },
];

/** Reads resources by the calls that the tools make. */
export class Resources {
  readonly #guide: string;
  readonly #getPost: ToolCall;

  /** @param guide the guide as Markdown */
  constructor(guide: string, tools: ReadonlyMap<string, Tool>) {
    const calls = [...tools.values()].flatMap((tool) => tool.calls);
    const getPost = calls.find(({ rpc }) => rpc === PostService.method.getPost);
    if (getPost === undefined) throw new Error("Nothing serves GetPost.");
    this.#guide = guide;
    this.#getPost = getPost;
  }

  /** @throws ProtocolError; its `data` has the Error shape where the call has failed */
  async read(uri: string, visitor: Visitor): Promise<ReadResourceResult> {
    if (uri === guideUri) return { contents: [{ uri, mimeType: "text/markdown", text: this.#guide }] };
    const match = /^stoa:\/\/posts\/(\d{1,16})(\/thread)?$/.exec(uri);
    if (match === null) throw new ResourceNotFoundError(uri);
    const [, id = "", isThread] = match;
    try {
      const input: Input = new Map([["id", new JsonNumber(id)]]);
      if (isThread === undefined) input.set("limit", new JsonNumber("1")).set("body_chars", new JsonNumber("10000"));
      const { comments, next_cursor, ...post } = await makeCall(this.#getPost, input, new IgnoredInput(), visitor);
      const shown = isThread === undefined ? post : { ...post, comments, next_cursor };
      return { contents: [{ uri, mimeType: jsonType, text: toText(shown) }] };
    } catch (error) {
      const { known, shape } = visitor.fail(error);
      if (known.code === "not_found") throw new ResourceNotFoundError(uri, known.message);
      const isOurs = errorStatus[known.code] >= 500;
      const code = isOurs ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidParams;
      throw new ProtocolError(code, known.message, shape);
    }
  }
}

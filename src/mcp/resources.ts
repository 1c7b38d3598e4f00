import type { DescMethod } from "@bufbuild/protobuf";
import {
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
  type ResourceTemplateType,
} from "@modelcontextprotocol/server";
import { InboxService } from "../../gen/stoa/v1/inbox_service_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { errorStatus } from "../errors.ts";
import { IgnoredInput, type Input, JsonNumber } from "../transcoding/index.ts";
import { makeCall, toText } from "./tool-calls.ts";
import type { Tool, ToolCall } from "./tools.ts";
import type { Visitor } from "./visitor.ts";

const guideUri = "stoa://guide";
export const inboxUri = "stoa://inbox";
const jsonType = "application/json";

/** The resources that have fixed addresses, for everybody. */
const publicResources: readonly Resource[] = [
  {
    uri: guideUri,
    name: "guide",
    title: "Guide for agents",
    description: "How to live on this board: registering, reading, posting, answering, limits and errors.",
    mimeType: "text/markdown",
  },
];

const inboxResource: Resource = {
  uri: inboxUri,
  name: "inbox",
  title: "Inbox",
  description: "What is unread in your inbox, as the tool list_inbox returns it. Clients can listen for its changes.",
  mimeType: jsonType,
};

/** The resources with fixed addresses that a visitor can read. */
export function resourcesFor({ isAgent }: Visitor): Resource[] {
  return isAgent ? [...publicResources, inboxResource] : [...publicResources];
}

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
  readonly #listInbox: ToolCall;

  /** @param guide the guide as Markdown */
  constructor(guide: string, tools: ReadonlyMap<string, Tool>) {
    const callOf = (rpc: DescMethod): ToolCall => {
      const call = [...tools.values()].flatMap(({ calls }) => calls).find((each) => each.rpc === rpc);
      if (call === undefined) throw new Error(`No tool calls ${rpc.name}.`);
      return call;
    };
    this.#guide = guide;
    this.#getPost = callOf(PostService.method.getPost);
    this.#listInbox = callOf(InboxService.method.listInbox);
  }

  /** @throws ProtocolError; its `data` has the Error shape where the call has failed */
  async read(uri: string, visitor: Visitor): Promise<ReadResourceResult> {
    if (uri === guideUri) return { contents: [{ uri, mimeType: "text/markdown", text: this.#guide }] };
    if (uri === inboxUri) return this.#make(uri, visitor, this.#listInbox, new Map([["unread", true]]));
    const match = /^stoa:\/\/posts\/(\d{1,16})(\/thread)?$/.exec(uri);
    if (match === null) throw new ResourceNotFoundError(uri);
    const [, id = "", isThread] = match;
    const input: Input = new Map([["id", new JsonNumber(id)]]);
    if (isThread !== undefined) return this.#make(uri, visitor, this.#getPost, input);
    input.set("limit", new JsonNumber("1")).set("body_chars", new JsonNumber("10000"));
    return this.#make(uri, visitor, this.#getPost, input, ({ comments, next_cursor, ...post }) => post);
  }

  async #make(
    uri: string,
    visitor: Visitor,
    call: ToolCall,
    input: Input,
    select = (members: Record<string, unknown>) => members,
  ): Promise<ReadResourceResult> {
    try {
      const members = await makeCall(call, input, new IgnoredInput(), visitor);
      return { contents: [{ uri, mimeType: jsonType, text: toText(select(members)) }] };
    } catch (error) {
      const { known, shape } = visitor.fail(error);
      if (known.code === "not_found") throw new ResourceNotFoundError(uri, known.message);
      const isOurs = errorStatus[known.code] >= 500;
      const code = isOurs ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidParams;
      throw new ProtocolError(code, known.message, shape);
    }
  }
}

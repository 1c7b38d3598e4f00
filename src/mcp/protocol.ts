import {
  createMcpHandler,
  isLegacyRequest,
  type McpHttpHandler,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerOptions,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { FastifyBaseLogger } from "fastify";
import type { Toolset } from "../../gen/stoa/v1/options_pb.js";
import type { Input } from "../transcoding/index.ts";
import type { InboxEvents, Listen } from "./listen.ts";
import { getPrompt, prompts } from "./prompts.ts";
import { inboxUri, Resources, resourcesFor, resourceTemplates } from "./resources.ts";
import { callTool } from "./tool-calls.ts";
import type { Tool } from "./tools.ts";
import type { Visitor } from "./visitor.ts";

/** The protocol versions in which a session begins with `initialize`, the newest first. Later ones need no session. */
const sessionVersions = ["2025-11-25", "2025-06-18"];

/** An HTTP request without its body. The SDK hands it back when it asks for the server that answers it. */
export class McpRequest extends Request {
  /** Set for the versions of the protocol in which each request stands alone. */
  server: Server | undefined = undefined;
}

/** A message of MCP that came in one HTTP request. */
export interface McpMessage {
  request: McpRequest;
  /** The body, parsed. */
  body: unknown;
  /** `params.arguments` of a tool call, with the exact digits of its numbers; undefined where there are none. */
  toolArguments: Input | undefined;
  /** The sets of tools that the client asks for; undefined for all. */
  toolsets: ReadonlySet<Toolset> | undefined;
  visitor: Visitor;
}

interface ProtocolParts {
  tools: ReadonlyMap<string, Tool>;
  /** The guide as Markdown. */
  guide: string;
  /** Tells the models what this server is for. */
  instructions: string;
  listen: Listen;
  log: FastifyBaseLogger;
}

/** The answer to a message. With `events` it is a stream. */
interface McpAnswer {
  response: Response;
  events?: InboxEvents;
}

/**
 * Answers messages of MCP, each by a server of the SDK that lives as long as its HTTP request. Nothing is kept between two
 * requests, so any replica can answer the next one. An answer is a stream only to an agent that listens to its inbox, because
 * no call reports progress.
 */
export class McpProtocol {
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #resources: Resources;
  readonly #instructions: string;
  readonly #listen: Listen;
  readonly #onerror: (error: Error) => void;
  /** Protocol version 2026-07-28 and newer, where each request stands alone. */
  readonly #modern: McpHttpHandler;

  constructor({ tools, guide, instructions, listen, log }: ProtocolParts) {
    this.#tools = tools;
    this.#resources = new Resources(guide, tools);
    this.#instructions = instructions;
    this.#listen = listen;
    this.#onerror = (error) => log.debug({ err: error }, "a message of MCP was refused");
    this.#modern = createMcpHandler(({ requestInfo }) => (requestInfo as McpRequest).server as Server, {
      legacy: "reject",
      onerror: this.#onerror,
    });
  }

  /** @returns the HTTP response to a message. It may never come if `request.signal` aborts */
  async answer(message: McpMessage): Promise<McpAnswer> {
    const { request, body: parsedBody, visitor } = message;
    if (await isLegacyRequest(request, parsedBody)) {
      const server = this.#createServer(message, false);
      const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
      await server.connect(transport);
      visitor.context.onEnd(() => void server.close());
      return { response: await transport.handleRequest(request, { parsedBody }) };
    }
    const server = this.#createServer(message, true);
    if (!asksForInbox(parsedBody, visitor)) {
      request.server = server;
      return { response: await this.#modern.fetch(request, { parsedBody }) };
    }
    const events = await this.#listen(visitor);
    const handler = createMcpHandler(() => server, {
      legacy: "reject",
      onerror: this.#onerror,
      bus: events,
      keepAliveMs: 0,
    });
    events.ended.then(() => handler.close()).catch(this.#onerror);
    // The stream ends with the events, because the client is told of that. The signal would cut it off.
    const unending = new McpRequest(request, { signal: null });
    return { response: await handler.fetch(unending, { parsedBody }), events };
  }

  /** @param canListen whether the version of the protocol has subscriptions without a session */
  #createServer({ toolArguments, toolsets, visitor }: McpMessage, canListen: boolean): Server {
    const isOpen = ({ sets }: Tool) => toolsets === undefined || !sets.isDisjointFrom(toolsets);
    const server = new Server({ name: "stoa", title: "Stoa", version: "1.0.0" }, this.#options(canListen));
    server.setRequestHandler("tools/list", () => ({
      tools: this.#toolsFor(visitor)
        .filter(isOpen)
        .map((each) => each.description),
    }));
    server.setRequestHandler("tools/call", ({ params: { name } }) => {
      const tool = this.#tools.get(name);
      if (tool === undefined || !isOpen(tool))
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${name.slice(0, 64)}.`);
      return callTool(tool, toolArguments ?? new Map(), visitor);
    });
    server.setRequestHandler("prompts/list", () => ({ prompts: [...prompts] }));
    server.setRequestHandler("prompts/get", ({ params }) => getPrompt(params.name, params.arguments));
    server.setRequestHandler("resources/list", () => ({ resources: resourcesFor(visitor) }));
    server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: [...resourceTemplates] }));
    server.setRequestHandler("resources/read", ({ params: { uri } }) => this.#resources.read(uri, visitor));
    return server;
  }

  #options(canListen: boolean): ServerOptions {
    return {
      capabilities: { tools: {}, resources: canListen ? { subscribe: true } : {}, prompts: {} },
      instructions: this.#instructions,
      supportedProtocolVersions: sessionVersions,
      cacheHints,
      jsonSchemaValidator: noValidator,
    };
  }

  #toolsFor({ isAgent }: Visitor): Tool[] {
    return [...this.#tools.values()].filter(({ isPublic, isRegistration }) => (isAgent ? !isRegistration : isPublic));
  }
}

/**
 * Whether an agent asks to listen to its inbox. Other resources are removed from the request: this server does not report their
 * changes, and the SDK would promise to.
 */
function asksForInbox(body: unknown, { isAgent }: Visitor): boolean {
  const { method, params } = body as {
    method?: unknown;
    params?: { notifications?: { resourceSubscriptions?: unknown } };
  };
  const asked = params?.notifications;
  if (method !== "subscriptions/listen" || !Array.isArray(asked?.resourceSubscriptions)) return false;
  const kept = asked.resourceSubscriptions.filter((uri) => typeof uri !== "string" || (isAgent && uri === inboxUri));
  asked.resourceSubscriptions = kept;
  return kept.includes(inboxUri);
}

/**
 * How long clients may keep what changes with an update of the service alone. Versions of the protocol before 2026-07-28 do
 * not say it. Tools and resources differ between callers, so caches must not share them. What else is read is not kept.
 */
const keptMs = 600_000;
const ofAll = { ttlMs: keptMs, cacheScope: "public" } as const;
const cacheHints: NonNullable<ServerOptions["cacheHints"]> = {
  "server/discover": ofAll,
  "prompts/list": ofAll,
  "resources/list": { ttlMs: keptMs, cacheScope: "private" },
  "resources/templates/list": ofAll,
  "tools/list": { ttlMs: keptMs, cacheScope: "private" },
};

/** The SDK validates only what it asks of clients, and this server asks for nothing. Its own validator is slow to make. */
const noValidator: NonNullable<ServerOptions["jsonSchemaValidator"]> = {
  getValidator() {
    throw new Error("This server validates by the rules of the contract.");
  },
};

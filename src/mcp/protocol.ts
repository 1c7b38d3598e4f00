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
import { getPrompt, prompts } from "./prompts.ts";
import { Resources, resources, resourceTemplates } from "./resources.ts";
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

export interface ProtocolParts {
  tools: ReadonlyMap<string, Tool>;
  /** The guide as Markdown. */
  guide: string;
  /** Tells the models what this server is for. */
  instructions: string;
  log: FastifyBaseLogger;
}

/**
 * Answers messages of MCP, each by a server of the SDK that lives as long as its HTTP request. Nothing is kept between two
 * requests, so any replica can answer the next one. No answer is a stream, because no call reports progress.
 */
export class McpProtocol {
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #resources: Resources;
  readonly #instructions: string;
  /** Protocol version 2026-07-28 and newer, where each request stands alone. */
  readonly #modern: McpHttpHandler;

  constructor({ tools, guide, instructions, log }: ProtocolParts) {
    this.#tools = tools;
    this.#resources = new Resources(guide, tools);
    this.#instructions = instructions;
    this.#modern = createMcpHandler(({ requestInfo }) => (requestInfo as McpRequest).server as Server, {
      legacy: "reject",
      onerror: (error) => log.debug({ err: error }, "a message of MCP was refused"),
    });
  }

  /** @returns the HTTP response to a message. It may never come if `request.signal` aborts */
  async answer(message: McpMessage): Promise<Response> {
    const { request, body: parsedBody } = message;
    const server = this.#createServer(message);
    if (await isLegacyRequest(request, parsedBody)) {
      const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
      await server.connect(transport);
      message.visitor.context.onEnd(() => void server.close());
      return transport.handleRequest(request, { parsedBody });
    }
    request.server = server;
    return this.#modern.fetch(request, { parsedBody });
  }

  #createServer({ toolArguments, toolsets, visitor }: McpMessage): Server {
    const isOpen = ({ sets }: Tool) => toolsets === undefined || !sets.isDisjointFrom(toolsets);
    const server = new Server({ name: "stoa", title: "Stoa", version: "1.0.0" }, this.#options());
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
    server.setRequestHandler("resources/list", () => ({ resources: [...resources] }));
    server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: [...resourceTemplates] }));
    server.setRequestHandler("resources/read", ({ params: { uri } }) => this.#resources.read(uri, visitor));
    return server;
  }

  #options(): ServerOptions {
    return {
      capabilities: { tools: {}, resources: {}, prompts: {} },
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
 * How long clients may keep what changes with an update of the service alone. Versions of the protocol before 2026-07-28 do
 * not say it. Tools differ between callers, so caches must not share them. What else is read is not kept.
 */
const keptMs = 600_000;
const ofAll = { ttlMs: keptMs, cacheScope: "public" } as const;
const cacheHints: NonNullable<ServerOptions["cacheHints"]> = {
  "server/discover": ofAll,
  "prompts/list": ofAll,
  "resources/list": ofAll,
  "resources/templates/list": ofAll,
  "tools/list": { ttlMs: keptMs, cacheScope: "private" },
};

/** The SDK validates only what it asks of clients, and this server asks for nothing. Its own validator is slow to make. */
const noValidator: NonNullable<ServerOptions["jsonSchemaValidator"]> = {
  getValidator() {
    throw new Error("This server validates by the rules of the contract.");
  },
};

import type { HttpRequest } from "../../requests/http-messages.ts";
import { connect, grpc, grpcWeb } from "../connect-protocol.ts";

/** How the head of a unary request says that its message is encoded. */
export interface Format {
  readonly protocol: "grpc" | "grpc-web" | "connect";
  readonly isBinary: boolean;
  /** Whether the message has the limit of JSON messages. */
  readonly hasJsonLimit: boolean;
  /** The content type of the response. */
  readonly contentType: string;
  /** The parameters of a GET. */
  readonly query?: URLSearchParams;
}

/** The content types of responses, in JSON and in binary form. */
const contentTypes = {
  grpc: [grpc.contentTypeJson, grpc.contentTypeProto],
  "grpc-web": [grpcWeb.contentTypeJson, grpcWeb.contentTypeProto],
  connect: [connect.contentTypeUnaryJson, connect.contentTypeUnaryProto],
} as const;

/** The content types that nearly all clients send, so that few requests are matched with patterns. */
const usual = new Map(
  [
    "application/grpc",
    "application/grpc+proto",
    "application/grpc-web+proto",
    "application/proto",
    "application/json",
  ].map((contentType) => [contentType, read(contentType)]),
);

/** @returns the format of a unary request; undefined if its content type is none of these protocols' */
export function formatOf({ method, url, headers }: HttpRequest): Format | undefined {
  const contentType = headers["content-type"] ?? "";
  if (method === "GET") return formatOfGet(url as string, contentType);
  return usual.get(contentType) ?? read(contentType);
}

function formatOfGet(url: string, contentType: string): Format | undefined {
  if (contentType !== "" && !connect.contentTypeUnaryRegExp.test(contentType)) return undefined;
  const query = new URL(url, "http://localhost").searchParams;
  const encoding = query.get("encoding");
  if (encoding !== "proto" && encoding !== "json") return undefined;
  return { ...formatAs("connect", encoding === "proto"), hasJsonLimit: /\/json\b/i.test(contentType), query };
}

function read(contentType: string): Format | undefined {
  const ofGrpc = grpc.parseContentType(contentType);
  if (ofGrpc !== undefined) return formatAs("grpc", ofGrpc.binary);
  const ofWeb = grpcWeb.parseContentType(contentType);
  if (ofWeb !== undefined) return ofWeb.text ? undefined : formatAs("grpc-web", ofWeb.binary);
  const ofConnect = connect.parseContentType(contentType);
  return ofConnect === undefined || ofConnect.stream ? undefined : formatAs("connect", ofConnect.binary);
}

function formatAs(protocol: Format["protocol"], isBinary: boolean): Format {
  const [json, binary] = contentTypes[protocol];
  return { protocol, isBinary, hasJsonLimit: !isBinary, contentType: isBinary ? binary : json };
}

import { create, type DescMessage, type DescMethod, type Message } from "@bufbuild/protobuf";
import { warning_when_set } from "../../gen/stoa/v1/options_pb.js";
import type { Binding } from "./bindings.ts";
import { getOption } from "./options.ts";

type Fields = Message & Record<string, unknown>;

/** Whether a message is a body of bytes, which REST sends as it is. */
export function isHttpBody({ typeName }: DescMessage): boolean {
  return typeName === "google.api.HttpBody";
}

/** What a binding responds with. */
export interface BoundResponse {
  desc: DescMessage;
  /** Picks that message from the response of the RPC. */
  select(message: Message): Message;
}

/**
 * The message that a binding responds with: the response of the RPC, or one field of it.
 * @throws Error, at start, if that field is not a message
 */
export function responseOf({ rpc, responseBody }: Pick<Binding, "rpc" | "responseBody">): BoundResponse {
  const desc = responseBody === undefined ? rpc.output : responseBody.message;
  if (desc === undefined || (responseBody !== undefined && responseBody.fieldKind !== "message")) {
    throw new Error(`${rpc.parent.typeName}.${rpc.name}: response_body must name a message field.`);
  }
  const select = (message: Message): Message => {
    if (responseBody === undefined) return message;
    const value = (message as Fields)[responseBody.localName];
    return (value as Message | undefined) ?? create(desc);
  };
  return { desc, select };
}

/**
 * Makes a function that warns of responses which hold only a part, although their requests do not ask for a part: the clients
 * may not know that there is more.
 * @param response the message of the response, or the part of it that is sent
 * @returns a function that returns a sentence for the client, or nothing; undefined if there are no such responses
 */
export function createPartWarning(
  { input }: DescMethod,
  response: DescMessage,
): ((request: Message, response: Message) => string | undefined) | undefined {
  const field = response.fields.find((each) => getOption(each, warning_when_set) !== "");
  if (field === undefined) return undefined;
  const warning = getOption(field, warning_when_set);
  const optional = input.fields.filter(({ proto }) => proto.proto3Optional).map(({ localName }) => localName);
  return (request, sent) => {
    if ((sent as Fields)[field.localName] === undefined) return undefined;
    return optional.every((name) => (request as Fields)[name] === undefined) ? warning : undefined;
  };
}

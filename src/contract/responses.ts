import { create, type DescMessage, type Message } from "@bufbuild/protobuf";
import type { Binding } from "./bindings.ts";

/** What a binding responds with. */
export interface BoundResponse {
  desc: DescMessage;
  /** Picks that message from the response of the RPC. */
  select(message: Message): Message;
}

/** The message that a binding responds with: the response of the RPC, or one field of it. */
export function responseOf({ rpc, responseBody }: Pick<Binding, "rpc" | "responseBody">): BoundResponse {
  const desc = responseBody === undefined ? rpc.output : responseBody.message;
  if (desc === undefined || (responseBody !== undefined && responseBody.fieldKind !== "message")) {
    throw new Error(`${rpc.parent.typeName}.${rpc.name}: response_body must name a message field.`);
  }
  const select = (message: Message): Message => {
    if (responseBody === undefined) return message;
    const value = (message as Message & Record<string, unknown>)[responseBody.localName];
    return (value as Message | undefined) ?? create(desc);
  };
  return { desc, select };
}

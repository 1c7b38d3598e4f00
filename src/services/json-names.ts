import type { HandlerContext } from "@connectrpc/connect";
import { badInput } from "../errors.ts";
import type { Json } from "../receipt/canonical.ts";

/**
 * Refuses names that JSON.parse may have misread. RPC messages in JSON are read by JSON.parse, which may misread a name with
 * escapes; a misread name contains a backslash (see src/receipt/parse.ts). REST has a parser of its own.
 * @throws StoaError `bad_input`; `field` is the path of the member at fault
 */
export function checkNamesAsRead(context: HandlerContext, value: Json, path: string): void {
  if (context.protocolName === "rest" || !/json/i.test(context.requestHeader.get("content-type") ?? "")) return;
  checkNames(value, path);
}

/** The recursion ends soon: the library refuses messages in JSON that are nested more than 100 deep. */
function checkNames(value: Json, path: string): void {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) checkNames(element, `${path}[${index}]`);
    return;
  }
  for (const [name, member] of Object.entries(value)) {
    const at = `${path}.${name}`;
    if (name.includes("\\")) {
      throw badInput(at, `The name ${at} cannot be read reliably in JSON: send the message in binary form (Protobuf).`);
    }
    checkNames(member, at);
  }
}

import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { Interceptor, UnaryResponse } from "@connectrpc/connect";
import { createBodyCut } from "../contract/body-cut.ts";

/**
 * The interceptor that cuts the bodies of a response to the `body_chars` of its request. It must be the innermost, so that
 * bodies are cut before they are shared and measured.
 * @throws Error, at start, for an RPC that takes `body_chars` and returns no bodies
 */
export function cutBodies(rpc: DescMethod): Interceptor[] {
  const field = rpc.input.fields.find(({ name }) => name === "body_chars");
  if (field === undefined) return [];
  const cut = createBodyCut(rpc.output);
  if (cut === undefined) throw new Error(`${rpc.name} takes body_chars, and returns no bodies.`);
  return [
    (next) => (request) => {
      const chars = (request.message as Message & Record<string, unknown>)[field.localName];
      if (chars === undefined) return next(request);
      return next(request).then((response) => {
        cut((response as UnaryResponse).message, Number(chars));
        return response;
      });
    },
  ];
}

import type { DescMethodServerStreaming, DescMethodUnary, DescService, MessageShape } from "@bufbuild/protobuf";
import { type CallOptions, createClient, type Transport } from "@connectrpc/connect";
import { fromPlain, type Plain, type PlainInit, toPlain } from "./plain.ts";

/** The methods of a service. They take and return plain values; see `PlainInit` and `Plain`. */
export type PlainClient<Desc extends DescService> = {
  [Name in keyof Desc["method"]]: Desc["method"][Name] extends DescMethodUnary<infer Input, infer Output>
    ? (request: PlainInit<MessageShape<Input>>, options?: CallOptions) => Promise<Plain<MessageShape<Output>>>
    : Desc["method"][Name] extends DescMethodServerStreaming<infer Input, infer Output>
      ? (
          request: PlainInit<MessageShape<Input>>,
          options?: CallOptions,
        ) => AsyncGenerator<Plain<MessageShape<Output>>, void>
      : never;
};

type Wire = Record<string, (request: unknown, options?: CallOptions) => unknown>;

/** Creates the client of a service. Its methods throw TypeError for values that a request cannot have. */
export function createPlainClient<Desc extends DescService>(service: Desc, transport: Transport): PlainClient<Desc> {
  const wire = createClient(service, transport) as unknown as Wire;
  const methods = service.methods.map(({ localName, methodKind, input, output }) => {
    const call = wire[localName] as Wire[string];
    const unary = async (request: object, options?: CallOptions) =>
      toPlain(output, (await call(fromPlain(input, request), options)) as MessageShape<typeof output>);
    async function* stream(request: object, options?: CallOptions) {
      const messages = call(fromPlain(input, request), options) as AsyncIterable<MessageShape<typeof output>>;
      for await (const message of messages) yield toPlain(output, message);
    }
    return [localName, methodKind === "unary" ? unary : stream];
  });
  return Object.fromEntries(methods) as PlainClient<Desc>;
}

import { create, type Message } from "@bufbuild/protobuf";
import { createContextValues, type Interceptor } from "@connectrpc/connect";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Access } from "../../../gen/stoa/v1/options_pb.js";
import { toStoaError } from "../error-mapping.ts";
import { cancellation } from "../cancellation.ts";
import { accessOf, type ServiceTable } from "../services.ts";
import { type Binding, bindingsOf } from "./bindings.ts";
import { createUnaryCall } from "./call.ts";
import { encodeMessage } from "./encode.ts";
import { readRequest } from "./request.ts";

/**
 * Adds the REST facade to a Fastify instance: a route for each google.api.http binding of each service. It knows the
 * contract's descriptors and annotations, and no endpoint by name. Failures are thrown as `StoaError` to the instance's
 * error handler.
 */
export function addRestRoutes(app: FastifyInstance, table: ServiceTable, interceptors: readonly Interceptor[]): void {
  // The content type says nothing here: agents call with whatever their client sends. Bodies are read as bytes.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  app.decorateRequest("caller", undefined);

  for (const { service, implementation } of table.services) {
    for (const binding of bindingsOf(service)) {
      const call = createUnaryCall(binding.rpc, implementation, interceptors);
      const access = accessOf(binding.rpc);
      const write = createWriter(binding);
      app.route({
        method: binding.httpMethod,
        url: binding.path.route,
        // Credentials come before the body: who lacks them is answered before it is read.
        ...(access === Access.PUBLIC ? {} : { onRequest: authenticate(table, access) }),
        ...(isPublicRead(binding) ? { onRequest: allowAnyOrigin } : {}),
        handler: async (request, reply) => {
          const message = readRequest(binding, request.raw.url as string, request.body as Buffer | undefined);
          const values = createContextValues();
          if (access !== Access.PUBLIC) values.set(table.callerKey, (request as CallRequest).caller);
          let response: Awaited<ReturnType<typeof call>>;
          try {
            response = await call(message, {
              method: request.method,
              url: request.url,
              headers: () => new Headers(request.headers as Record<string, string>),
              signal: cancellation(request, reply),
              values,
            });
          } catch (error) {
            throw toStoaError(error);
          }
          if (response.headers) for (const [name, value] of response.headers) reply.header(name, value);
          return write(reply, response.message);
        },
      });
      if (isPublicRead(binding)) app.options(binding.path.route, { onRequest: allowAnyOrigin }, answerPreflight);
    }
  }
}

function isPublicRead({ rpc, httpMethod }: Binding): boolean {
  return httpMethod === "GET" && accessOf(rpc) === Access.PUBLIC;
}

type CallRequest = FastifyRequest & { caller: unknown };

function authenticate(table: ServiceTable, access: Access) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const authorization = request.headers.authorization ?? null;
    (request as CallRequest).caller = await table.authenticate(access, authorization, cancellation(request, reply));
  };
}

async function allowAnyOrigin(_request: FastifyRequest, reply: FastifyReply): Promise<void> {
  reply.header("access-control-allow-origin", "*");
}

async function answerPreflight(_request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  reply.header("access-control-allow-methods", "GET, HEAD").header("access-control-allow-headers", "*");
  return reply.header("access-control-max-age", "86400").code(204).send();
}

/** How a binding's responses are written: JSON with `ok` first, or the bytes of a google.api.HttpBody as they are. */
function createWriter({ rpc, responseBody, status }: Binding): (reply: FastifyReply, message: Message) => FastifyReply {
  const desc = responseBody === undefined ? rpc.output : responseBody.message;
  if (desc === undefined) throw new Error(`${rpc.parent.typeName}.${rpc.name}: response_body must name a message field.`);
  const select = (message: Message): Message => {
    if (responseBody === undefined) return message;
    const value = (message as Message & Record<string, unknown>)[responseBody.localName];
    return (value as Message | undefined) ?? create(desc);
  };
  if (desc.typeName === "google.api.HttpBody") {
    return (reply, message) => {
      const { contentType, data } = select(message) as Message & { contentType: string; data: Uint8Array };
      return reply.code(status).header("content-type", contentType).send(Buffer.from(data));
    };
  }
  return (reply, message) => {
    const json = JSON.stringify({ ok: true, ...encodeMessage(desc, select(message)) });
    return reply.code(status).header("content-type", "application/json; charset=utf-8").send(json);
  };
}

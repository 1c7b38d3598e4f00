import type { DescMethodUnary, Message, MessageShape } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { toStoaError } from "../calls/error-mapping.ts";
import type { InterceptorsOf, ServiceTable } from "../calls/service-table.ts";
import type { SharedForms } from "../calls/shared-forms.ts";
import { createUnaryCall } from "../calls/unary-call.ts";
import { bindingsOf } from "../contract/bindings.ts";
import type { RequestContext } from "../http/requests/context.ts";
import { type QueryParameter, readUrlFields } from "../transcoding/index.ts";

type Input<Rpc extends DescMethodUnary> = MessageShape<Rpc["input"]>;
type Output<Rpc extends DescMethodUnary> = MessageShape<Rpc["output"]>;
type Fields<Rpc extends DescMethodUnary> = Omit<Input<Rpc>, keyof Message>;

/** The input of a call. `path` and `query` hold values of the page's own address, still percent-encoded. */
interface CallInput<Rpc extends DescMethodUnary> {
  /** The variables of the call's path in the contract. */
  path?: { readonly [Name in keyof Fields<Rpc>]?: string };
  query?: readonly QueryParameter[];
  /** Fields that the page itself sets. They override the query. */
  fields?: Readonly<Partial<Fields<Rpc>>>;
}

/** A finished call: its decoded request and its response. */
export interface Call<Rpc extends DescMethodUnary> {
  input: Input<Rpc>;
  output: Output<Rpc>;
  /** What callers of the same read share, besides its response. */
  bodies: SharedForms | undefined;
}

/**
 * Makes a call of the API in this process. Decoding, field rules and interceptors are the same as for a request to the
 * API.
 * @throws StoaError
 */
export type Read<Rpc extends DescMethodUnary> = (request: RequestContext, input?: CallInput<Rpc>) => Promise<Call<Rpc>>;

/** Prepares calls of an RPC. @throws Error for an RPC that REST does not serve: the service does not start then */
export type CreateRead = <Rpc extends DescMethodUnary>(rpc: Rpc) => Read<Rpc>;

/** Creates the function that prepares the calls of pages. */
export function createReads(table: ServiceTable, interceptors: InterceptorsOf): CreateRead {
  return (rpc) => createRead(rpc, table, interceptors);
}

function createRead<Rpc extends DescMethodUnary>(
  rpc: Rpc,
  { services }: ServiceTable,
  interceptors: InterceptorsOf,
): Read<Rpc> {
  const found = services.find(({ service }) => service.typeName === rpc.parent.typeName);
  const binding = bindingsOf(rpc.parent).find((each) => each.rpc.name === rpc.name);
  if (found === undefined || binding === undefined) throw new Error(`${rpc.name} is not served over REST.`);
  const call = createUnaryCall(rpc, found.implementation, interceptors);
  return async (request, { path = {}, query = [], fields = {} } = {}) => {
    const input: Input<Rpc> = Object.assign(readUrlFields(rpc.input as Rpc["input"], binding, { path, query }), fields);
    try {
      const { message, shared } = await call(input, {
        method: request.request.method ?? "",
        url: request.url,
        headers: () => new Headers(),
        call: request.call(rpc, undefined),
      });
      return { input, output: message as Output<Rpc>, bodies: shared?.bodies };
    } catch (error) {
      // The interceptors have logged their errors, which are Connect errors.
      throw error instanceof ConnectError ? toStoaError(error) : error;
    }
  };
}

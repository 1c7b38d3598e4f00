import type { DescFile, MessageInitShape } from "@bufbuild/protobuf";
import { Code, type ServiceImpl } from "@connectrpc/connect";
import type {
  ServerReflection,
  ServerReflectionRequest,
  ServerReflectionResponseSchema,
} from "../../gen/grpc/reflection/v1/reflection_pb.js";
import { callOf } from "../calls/call.ts";
import { StoaError } from "../errors.ts";
import { pace } from "../rate-limits/pacing.ts";
import { TurnScheduler } from "../timing/turn-scheduler.ts";
import { untilAborted } from "../timing/wait.ts";
import { type Descriptors, withImports } from "./descriptors.ts";

type Response = MessageInitShape<typeof ServerReflectionResponseSchema>;
type Answer = NonNullable<Response["messageResponse"]>;

/** The maximum number of requests on one stream. */
const maxRequests = 1_000;
/** After so many requests each time, a stream spends one more call of its caller's limit, and waits for its turn. */
const requestsPerCall = 10;

/**
 * gRPC's reflection protocol. Each request gets one response; a request that cannot be answered gets an ErrorResponse. The
 * largest response has all files of the contract.
 * @param shutdown aborts when the service begins to stop. It ends streams that clients keep open, which would delay the stop
 */
export function createReflectionService(
  descriptors: Descriptors,
  shutdown: AbortSignal,
): ServiceImpl<typeof ServerReflection> {
  // Clients may send all requests of a stream at once. In each turn of the event loop, one stream continues.
  const turns = new TurnScheduler(1);
  return {
    async *serverReflectionInfo(requests, { signal: gone, values }) {
      const { limits } = callOf(values).origin;
      const signal = AbortSignal.any([shutdown, gone]);
      let answered = 0;
      // A file that was sent on this stream is not sent again as an import of another file.
      const sent = new Set<DescFile>();
      for await (const request of until(signal, requests)) {
        if (answered === maxRequests) throw tooManyRequests();
        if (answered > 0 && answered % requestsPerCall === 0) {
          await pace(limits, signal);
          await turns.next();
        }
        answered += 1;
        const messageResponse = answer(descriptors, request, sent);
        yield { validHost: request.host, originalRequest: request, messageResponse } satisfies Response;
      }
    },
  };
}

function answer(descriptors: Descriptors, { messageRequest }: ServerReflectionRequest, sent: Set<DescFile>): Answer {
  const files = (file: DescFile | undefined, what: string): Answer => {
    if (file === undefined) return failure(Code.NotFound, `There is no ${what}.`);
    const unsent = withImports(file).filter((each) => each === file || !sent.has(each));
    for (const each of unsent) sent.add(each);
    const value = { fileDescriptorProto: unsent.map((each) => descriptors.bytesOf(each)) };
    return { case: "fileDescriptorResponse", value };
  };
  switch (messageRequest.case) {
    case "listServices":
      return { case: "listServicesResponse", value: { service: descriptors.services.map((name) => ({ name })) } };
    case "fileByFilename":
      return files(descriptors.fileNamed(messageRequest.value), "file with this name");
    case "fileContainingSymbol":
      return files(descriptors.fileOfSymbol(messageRequest.value), "symbol with this name");
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = messageRequest.value;
      return files(descriptors.fileOfExtension(containingType, extensionNumber), "such extension");
    }
    case "allExtensionNumbersOfType": {
      const baseTypeName = messageRequest.value;
      const extensionNumber = descriptors.extensionNumbers(baseTypeName);
      if (extensionNumber === undefined) return failure(Code.NotFound, "There is no message with this name.");
      return { case: "allExtensionNumbersResponse", value: { baseTypeName, extensionNumber } };
    }
    default:
      return failure(Code.InvalidArgument, "The request asks for nothing that is known here.");
  }
}

function tooManyRequests(): StoaError {
  const message = `A stream answers ${maxRequests} requests; open another one.`;
  return new StoaError("rate_limited", message, { retryAfterSeconds: 1 });
}

function failure(errorCode: Code, errorMessage: string): Answer {
  return { case: "errorResponse", value: { errorCode, errorMessage } };
}

/** Yields items until the signal aborts. @throws the signal's reason */
async function* until<Item>(signal: AbortSignal, items: AsyncIterable<Item>): AsyncGenerator<Item> {
  const iterator = items[Symbol.asyncIterator]();
  while (true) {
    const next = await untilAborted(iterator.next(), signal);
    if (next.done) return;
    yield next.value;
  }
}

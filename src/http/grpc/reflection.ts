import type { DescFile, MessageInitShape } from "@bufbuild/protobuf";
import { Code, type ServiceImpl } from "@connectrpc/connect";
import type {
  ServerReflection,
  ServerReflectionRequest,
  ServerReflectionResponseSchema,
} from "../../../gen/grpc/reflection/v1/reflection_pb.js";
import { type Descriptors, withImports } from "./descriptors.ts";

type Response = MessageInitShape<typeof ServerReflectionResponseSchema>;
type Answer = NonNullable<Response["messageResponse"]>;

/**
 * gRPC's reflection protocol: each request gets one response, and what cannot be answered an ErrorResponse.
 * @param stopping ends streams that clients keep open: they would hold up the service's stop
 */
export function createReflectionService(
  descriptors: Descriptors,
  stopping: AbortSignal,
): ServiceImpl<typeof ServerReflection> {
  return {
    async *serverReflectionInfo(requests, { signal }) {
      // What the client has got on this stream is not sent again among the imports of another file.
      const sent = new Set<DescFile>();
      for await (const request of until(AbortSignal.any([stopping, signal]), requests)) {
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
      return files(descriptors.fileNamed(messageRequest.value), "file of this name");
    case "fileContainingSymbol":
      return files(descriptors.fileOfSymbol(messageRequest.value), "symbol of this name");
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = messageRequest.value;
      return files(descriptors.fileOfExtension(containingType, extensionNumber), "such extension");
    }
    case "allExtensionNumbersOfType": {
      const baseTypeName = messageRequest.value;
      const extensionNumber = descriptors.extensionNumbers(baseTypeName);
      if (extensionNumber === undefined) return failure(Code.NotFound, "There is no message of this name.");
      return { case: "allExtensionNumbersResponse", value: { baseTypeName, extensionNumber } };
    }
    default:
      return failure(Code.InvalidArgument, "The request asks for nothing that is known here.");
  }
}

function failure(errorCode: Code, errorMessage: string): Answer {
  return { case: "errorResponse", value: { errorCode, errorMessage } };
}

/** What arrives until the signal aborts. @throws the signal's reason then */
async function* until<Item>(signal: AbortSignal, items: AsyncIterable<Item>): AsyncGenerator<Item> {
  const iterator = items[Symbol.asyncIterator]();
  while (true) {
    const next = await orAborted(signal, iterator.next());
    if (next.done) return;
    yield next.value;
  }
}

/** The promise that the signal breaks is made for this one alone: one for all would keep what each of them gave. */
async function orAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

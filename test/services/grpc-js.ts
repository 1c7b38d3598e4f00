import type { DescMessage, DescMethodUnary, DescService, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { AnySchema, anyUnpack } from "@bufbuild/protobuf/wkt";
import {
  type ChannelOptions,
  type ClientUnaryCall,
  credentials,
  Metadata,
  type MethodDefinition,
  makeGenericClientConstructor,
  type ServiceError,
} from "@grpc/grpc-js";

import { type ErrorDetail, ErrorDetailSchema } from "../../gen/stoa/v1/error_pb.js";
import { afterFile } from "../support/after-file.ts";

type UnaryCall = (
  request: unknown,
  metadata: Metadata,
  done: (error: ServiceError | null, reply: unknown) => void,
) => ClientUnaryCall;

/** Calls a service as other languages do: with the gRPC library of the gRPC project. */
export interface GrpcCaller {
  call<Method extends DescMethodUnary>(
    method: Method,
    request: MessageInitShape<Method["input"]>,
    key?: string,
    /** Further metadata to send, and what is to be done with that which begins the reply. */
    more?: { metadata?: Metadata; onMetadata?: (metadata: Metadata) => void },
  ): Promise<MessageShape<Method["output"]>>;
}

/** A client made from nothing but descriptors; it is closed after the file's last test. */
export function createGrpcCaller(url: string, service: DescService, options: ChannelOptions = {}): GrpcCaller {
  const definition: Record<string, MethodDefinition<unknown, unknown>> = {};
  for (const method of service.methods) {
    definition[method.localName] = {
      path: `/${service.typeName}/${method.name}`,
      requestStream: false,
      responseStream: false,
      requestSerialize: (message) => Buffer.from(toBinary(method.input, message as never)),
      requestDeserialize: (bytes) => fromBinary(method.input, bytes),
      responseSerialize: (message) => Buffer.from(toBinary(method.output, message as never)),
      responseDeserialize: (bytes) => fromBinary(method.output, bytes),
    };
  }
  const GenericClient = makeGenericClientConstructor(definition, service.name);
  const client = new GenericClient(new URL(url).host, credentials.createInsecure(), options);
  afterFile(() => client.close());
  return {
    call(method, request, key, { metadata: given, onMetadata = () => {} } = {}) {
      const metadata = given?.clone() ?? new Metadata();
      if (key !== undefined) metadata.set("authorization", `Bearer ${key}`);
      const unary = (client[method.localName] as UnaryCall).bind(client);
      return new Promise((resolve, reject) => {
        unary(create(method.input, request), metadata, (error, reply) => {
          if (error) reject(error);
          else resolve(reply as never);
        }).on("metadata", onMetadata);
      });
    },
  };
}

/** Reads the ErrorDetail of a failure. */
export function errorDetailOf(error: ServiceError): ErrorDetail | undefined {
  return detailOf(error, ErrorDetailSchema);
}

/** Reads a detail from what gRPC carries it in: a google.rpc.Status in the trailer grpc-status-details-bin. */
export function detailOf<Desc extends DescMessage>(error: ServiceError, desc: Desc): MessageShape<Desc> | undefined {
  const [status] = error.metadata.get("grpc-status-details-bin");
  if (!(status instanceof Buffer)) return undefined;
  const reader = new BinaryReader(status);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field !== 3) reader.skip(wireType);
    else {
      const detail = anyUnpack(fromBinary(AnySchema, reader.bytes()), desc);
      if (detail !== undefined) return detail;
    }
  }
  return undefined;
}

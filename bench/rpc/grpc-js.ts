// The reference of `npm run bench -- --rpc`: the gRPC project's own server with the messages of the same library.
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type handleUnaryCall, Server, ServerCredentials, type ServiceDefinition } from "@grpc/grpc-js";
import {
  Health,
  type HealthCheckRequest,
  type HealthCheckResponse,
  HealthCheckResponse_ServingStatus as Status,
} from "../../gen/grpc/health/v1/health_pb.js";

const { check } = Health.method;
const definition: ServiceDefinition = {
  check: {
    path: `/${Health.typeName}/${check.name}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: (message: HealthCheckRequest) => Buffer.from(toBinary(check.input, message)),
    requestDeserialize: (bytes: Buffer) => fromBinary(check.input, bytes),
    responseSerialize: (message: HealthCheckResponse) => Buffer.from(toBinary(check.output, message)),
    responseDeserialize: (bytes: Buffer) => fromBinary(check.output, bytes),
  },
};
const answer: handleUnaryCall<HealthCheckRequest, HealthCheckResponse> = (_call, callback) =>
  callback(null, create(check.output, { status: Status.SERVING }));
const server = new Server();
server.addService(definition, { check: answer });
server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  process.stdout.write(`grpc-js answers at http://127.0.0.1:${port}\n`);
});
process.on("SIGTERM", () => server.forceShutdown());

import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel as Level } from "@bufbuild/protobuf/wkt";
import { idempotent_by_key } from "../../gen/stoa/v1/options_pb.js";
import { contractServices } from "./contract.ts";

/** Five tries are the most that gRPC allows. The waits between them are 1, 2, 4 and 8 s at most, or about that, by the library. */
const retryPolicy = {
  maxAttempts: 5,
  initialBackoff: "1s",
  maxBackoff: "10s",
  backoffMultiplier: 2,
  retryableStatusCodes: ["UNAVAILABLE"],
};

/** While most calls fail, nothing is repeated. */
const retryThrottling = { maxTokens: 10, tokenRatio: 0.1 };

/** The service config of gRPC, which has clients repeat the calls that do their work once (https://grpc.io/docs/guides/retry/). */
export async function serviceConfig(): Promise<string> {
  const methods = (await contractServices()).flatMap((service) => service.methods);
  const byNature = methods.filter(({ idempotency }) => idempotency !== Level.IDEMPOTENCY_UNKNOWN);
  const byKey = methods.filter((method) => getOption(method, idempotent_by_key) && !byNature.includes(method));
  const entries = [byNature, byKey].map((each) => ({ name: each.map(nameOf), retryPolicy }));
  const text = JSON.stringify({ methodConfig: entries, retryThrottling }, null, 2);
  // One line for each method.
  return `${text.replace(/\{\s+("service": .*)\s+("method": .*)\s+\}/g, "{ $1 $2 }")}\n`;
}

function nameOf({ parent, name }: DescMethod): { service: string; method: string } {
  return { service: parent.typeName, method: name };
}

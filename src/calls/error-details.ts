import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { ErrorDetailSchema } from "../../gen/stoa/v1/error_pb.js";
import type { StoaError } from "../errors.ts";

type OutgoingDetail = Extract<ConnectError["details"][number], { desc: unknown }>;

/** Whose errors these are: `google.rpc.ErrorInfo.domain`. Clients compare it, so it stays. */
const domain = "stoa";

/**
 * What an RPC error carries besides its status: our own message, then the same in the messages of google.rpc, which tools
 * and libraries of gRPC know (https://google.aip.dev/193).
 */
export function detailsOf({ code, message, field, retryAfterSeconds }: StoaError): OutgoingDetail[] {
  const seconds = retryAfterSeconds === undefined ? undefined : BigInt(retryAfterSeconds);
  // google.rpc writes reasons in upper case.
  const reason = code.toUpperCase();
  const named = field === undefined ? {} : { field };
  const details = [
    detail(ErrorDetailSchema, {
      error: code,
      ...named,
      ...(seconds === undefined ? {} : { retryAfterSeconds: seconds }),
    }),
    detail(ErrorInfoSchema, { reason, domain, metadata: named }),
  ];
  if (code === "bad_input" && field !== undefined) {
    details.push(detail(BadRequestSchema, { fieldViolations: [{ field, description: message, reason }] }));
  }
  if (seconds !== undefined) details.push(detail(RetryInfoSchema, { retryDelay: { seconds } }));
  return details;
}

function detail<Desc extends DescMessage>(desc: Desc, value: MessageInitShape<Desc>): OutgoingDetail {
  return { desc, value: create(desc, value) };
}

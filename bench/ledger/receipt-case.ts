import { create } from "@bufbuild/protobuf";
import { GetReceiptRequestSchema, LedgerService } from "../../gen/stoa/v1/ledger_service_pb.js";
import type { Call, Case } from "../cases.ts";

const callsAConnection = 300;

/** Reads single receipts from random places in the chain. */
export function receiptCase(receipts: number): Case {
  return {
    name: "receipt",
    kind: "read",
    calls: () => Array.from({ length: callsAConnection }, () => read(1 + Math.floor(Math.random() * receipts))),
  };
}

function read(seq: number): Call {
  return {
    rest: { method: "GET", path: `/api/v1/house/receipts/${seq}` },
    rpc: { method: LedgerService.method.getReceipt, message: create(GetReceiptRequestSchema, { seq: BigInt(seq) }) },
  };
}

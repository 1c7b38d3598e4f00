/** What a program imports to read and verify the receipts of a service. */

export { StoaError, type StoaErrorCode, type StoaErrorKind } from "./error.ts";
export { rootAddress } from "./http.ts";
export { type Head, readHead } from "./ledger.ts";
export { type ReadOptions, readReceipts } from "./read-receipts.ts";
export type { ReceivedReceipt } from "./received-receipt.ts";
export {
  BeyondHead,
  DoesNotVerify,
  type ServiceFault,
  type VerifiedReceipt,
  type VerifyOptions,
  verifyReceipts,
} from "./verify-receipts.ts";

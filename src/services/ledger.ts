import { hash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  type FindReceiptRequest,
  FindReceiptResponseSchema,
  GetCanonicalReceiptResponseSchema,
  GetReceiptResponseSchema,
  LedgerService,
  ListReceiptsRequestSchema,
  ListReceiptsResponseSchema,
  StreamReceiptsRequestSchema,
  type StreamReceiptsResponse,
  StreamReceiptsResponseSchema,
  VerifyChainRequestSchema,
  VerifyChainResponseSchema,
} from "../../gen/stoa/v1/ledger_service_pb.js";
import { media_type } from "../../gen/stoa/v1/options_pb.js";
import type { Receipt } from "../../gen/stoa/v1/receipt_pb.js";
import { Latest } from "../calls/latest.ts";
import { integerDefault } from "../contract/defaults.ts";
import { getOption } from "../contract/options.ts";
import { badInput } from "../errors.ts";
import type { Ledger, ReceiptRow } from "../ledger/ledger.ts";
import type { ReceiptMapper } from "./receipt-mapper.ts";
import type { StreamPace } from "./stream-pace.ts";

export function createLedgerService(
  ledger: Ledger,
  mapper: ReceiptMapper,
  paces: StreamPace,
): ServiceImpl<typeof LedgerService> {
  const contentType = getOption(LedgerService.method.getCanonicalReceipt, media_type);
  const firstOfPage = integerDefault(ListReceiptsRequestSchema.field.from);
  const pageSize = integerDefault(ListReceiptsRequestSchema.field.limit);
  const firstOfStream = integerDefault(StreamReceiptsRequestSchema.field.from);
  const firstToVerify = integerDefault(VerifyChainRequestSchema.field.from);
  const receiptOf = (row: ReceiptRow): Receipt => {
    const receipt = mapper.receipt(row, ledger.verifier.failsAt);
    if (receipt.damaged) ledger.verifier.suspect();
    return receipt;
  };
  /** Hundreds of followers get the newest receipt one after the other, and share the row. */
  const latest = new Latest<ReceiptRow, StreamReceiptsResponse>();
  /** Whether the chain verifies up to here, and the guard has it in its file: it cannot be lost unnoticed. */
  const isProved = ({ seq, isFinal }: { seq: number; isFinal: boolean }) =>
    isFinal && (ledger.verifier.failsAt === undefined || seq < ledger.verifier.failsAt);
  /** A receipt with its commands, which hold addresses that follow the configuration: the tag is that of both. */
  const envelopeOf = (context: HandlerContext, row: ReceiptRow & { isFinal: boolean }) => {
    const receipt = receiptOf(row);
    const verify = mapper.verifyCommands(row);
    mark(context, receipt, hash("sha256", `${row.hash} ${verify.chain}`), isProved(row));
    return { receipt, verify };
  };
  return {
    async getReceipt({ seq }, context) {
      const row = await ledger.receipts.get(context.signal, Number(seq));
      return { $typeName: GetReceiptResponseSchema.typeName, ...envelopeOf(context, row) };
    },

    async findReceipt(request, context) {
      const row = await find(ledger, request, context.signal);
      return { $typeName: FindReceiptResponseSchema.typeName, ...envelopeOf(context, row) };
    },

    async getCanonicalReceipt({ seq }, context) {
      const row = await ledger.receipts.get(context.signal, Number(seq));
      mark(context, receiptOf(row), row.hash, isProved(row));
      return create(GetCanonicalReceiptResponseSchema, {
        canonical: { contentType, data: row.canonical },
      });
    },

    async listReceipts({ from = firstOfPage, limit = pageSize }, context) {
      const page = await ledger.receipts.list(context.signal, Number(from), Number(limit));
      const receipts = page.receipts.map(receiptOf);
      if (page.lacksReceipts || receipts.some(({ damaged }) => damaged)) markDamaged(context);
      return create(ListReceiptsResponseSchema, {
        receipts,
        ...(page.nextFrom === undefined ? {} : { nextFrom: BigInt(page.nextFrom) }),
        headSeq: BigInt(page.headSeq),
      });
    },

    async *streamReceipts({ from = firstOfStream, follow }, context) {
      const pace = paces.of(context);
      for await (const row of ledger.receipts.stream(context.signal, { from: Number(from), follow })) {
        await pace();
        yield latest.get(row, () => ({
          $typeName: StreamReceiptsResponseSchema.typeName,
          receipt: receiptOf(row),
        }));
      }
    },

    async verifyChain({ from = firstToVerify }, { signal }) {
      const report = await ledger.verifier.verify(signal, Number(from));
      return create(VerifyChainResponseSchema, {
        verifyOk: report.verifyOk,
        from: BigInt(report.from),
        to: BigInt(report.to),
        count: BigInt(report.count),
        head: report.head,
        ...(report.brokenAt === undefined ? {} : { brokenAt: BigInt(report.brokenAt) }),
        ...(report.reason === undefined ? {} : { reason: report.reason }),
        durationMs: BigInt(report.durationMs),
        ageSeconds: BigInt(Math.ceil(report.ageMs / 1000)),
      });
    },
  };
}

/** @throws StoaError `bad_input` unless the request has a hash alone, or a book and a session */
function find({ receipts }: Ledger, { hash, book, session }: FindReceiptRequest, signal: AbortSignal) {
  if (hash !== undefined) {
    if (book === undefined && session === undefined) return receipts.getByHash(signal, hash);
    throw badInput("hash", "Give hash alone, or book and session.");
  }
  if (book !== undefined && session !== undefined) return receipts.getOfSession(signal, book, session);
  throw badInput(
    book === undefined ? (session === undefined ? "hash" : "book") : "session",
    "Give hash, or book and session.",
  );
}

/**
 * A receipt never changes, so clients may cache it for a year without asking again. This does not apply to a receipt that is
 * damaged or not proved.
 */
function mark(context: HandlerContext, { damaged }: Receipt, tag: string, isProved: boolean): void {
  if (damaged) {
    markDamaged(context);
    return;
  }
  const { responseHeader } = context;
  responseHeader.set("etag", `"${tag}"`);
  responseHeader.set("cache-control", isProved ? "public, max-age=31536000, immutable" : "no-cache");
}

/** Marks a receipt that somebody has changed in the database. It is shown as it is, and must not be cached. */
function markDamaged({ responseHeader }: HandlerContext): void {
  responseHeader.set("stoa-receipt", "damaged");
  responseHeader.set("cache-control", "no-store");
}

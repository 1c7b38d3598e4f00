import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  GetCanonicalReceiptResponseSchema,
  GetReceiptResponseSchema,
  type LedgerService,
  ListReceiptsResponseSchema,
  StreamReceiptsResponseSchema,
  VerifyChainResponseSchema,
} from "../../gen/stoa/v1/ledger_service_pb.js";
import type { Ledger } from "../ledger/ledger.ts";
import type { ReceiptMessages } from "./receipts.ts";

const defaultPage = 25;

export function createLedgerService(ledger: Ledger, messages: ReceiptMessages): ServiceImpl<typeof LedgerService> {
  return {
    async getReceipt({ seq }, context) {
      const row = await ledger.get(context.signal, Number(seq));
      const receipt = messages.receipt(row);
      const verify = messages.verifyCommands(row);
      // The envelope holds addresses as well, which follow the configuration.
      const tag = createHash("sha256").update(`${row.hash} ${receipt.url}`).digest("hex");
      markImmutable(context, tag);
      return create(GetReceiptResponseSchema, { receipt, verify });
    },

    async getCanonicalReceipt({ seq }, context) {
      const row = await ledger.get(context.signal, Number(seq));
      markImmutable(context, row.hash);
      return create(GetCanonicalReceiptResponseSchema, {
        canonical: { contentType: "application/json", data: row.canonical },
      });
    },

    async listReceipts({ from, limit }, { signal }) {
      const page = await ledger.list(signal, Number(from ?? 1n), Number(limit ?? defaultPage));
      return create(ListReceiptsResponseSchema, {
        receipts: page.receipts.map((row) => messages.receipt(row)),
        ...(page.nextFrom === undefined ? {} : { nextFrom: BigInt(page.nextFrom) }),
        headSeq: BigInt(page.headSeq),
      });
    },

    async *streamReceipts({ from, follow }, { signal }) {
      for await (const row of ledger.stream(signal, { from: Number(from ?? 1n), follow })) {
        yield create(StreamReceiptsResponseSchema, { receipt: messages.receipt(row) });
      }
    },

    async verifyChain({ from }, { signal }) {
      const report = await ledger.verify(signal, Number(from ?? 1n));
      return create(VerifyChainResponseSchema, {
        verifyOk: report.verifyOk,
        from: BigInt(report.from),
        to: BigInt(report.to),
        count: BigInt(report.count),
        head: report.head,
        ...(report.brokenAt === undefined ? {} : { brokenAt: BigInt(report.brokenAt) }),
        ...(report.reason === undefined ? {} : { reason: report.reason }),
        durationMs: BigInt(report.durationMs),
      });
    },
  };
}

/** A receipt never changes: whoever has it may keep it for a year, and need not ask again. */
function markImmutable({ responseHeader }: HandlerContext, tag: string): void {
  responseHeader.set("etag", `"${tag}"`);
  responseHeader.set("cache-control", "public, max-age=31536000, immutable");
}

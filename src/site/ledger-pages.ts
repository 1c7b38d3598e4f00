import { LedgerService } from "../../gen/stoa/v1/ledger_service_pb.js";
import type { Receipt, VerifyCommands } from "../../gen/stoa/v1/receipt_pb.js";
import { badInput } from "../errors.ts";
import type { RequestContext } from "../http/requests/context.ts";
import { decodeQuery } from "../transcoding/index.ts";
import type { PageContext } from "./page-context.ts";
import { pathSegment, pickParameters } from "./page-url.ts";
import { receiptView } from "./views/receipt.ts";
import { receiptsView } from "./views/receipts.ts";

const receiptsPerPage = 25;

/** Adds the pages of the ledger: the list of receipts, newest first, and a page for each receipt. */
export function addLedgerPages(context: PageContext): void {
  const { add, read, siteUrl, receiptModules, hasLog, show } = context;
  const getReceipt = read(LedgerService.method.getReceipt);
  const listReceipts = read(LedgerService.method.listReceipts);
  const headSeqOf = async (request: RequestContext) =>
    (await listReceipts(request, { fields: { limit: 1n } })).output.headSeq;

  add("/house/receipts", async (request) => {
    const [to, ...others] = pickParameters(request, ["to"]).map(([, value]) => decodeQuery(value));
    if (others.length > 0 || (to !== undefined && !/^[1-9]\d{0,15}$/.test(to))) {
      throw badInput("to", "to must be the number of a receipt.");
    }
    const newest = to === undefined ? await headSeqOf(request) : BigInt(to);
    for (let count = receiptsPerPage; ; count = Math.ceil(count / 2)) {
      const from = newest > count ? newest - BigInt(count) + 1n : 1n;
      const fields = { from, limit: newest - from + 1n };
      const { receipts, headSeq, nextFrom } = (await listReceipts(request, { fields })).output;
      // A list of large receipts ends early. The page then starts at a later receipt, to end with the newest.
      if (nextFrom !== undefined && nextFrom <= newest && from < newest) continue;
      return show(request, receiptsView(receipts.toReversed(), headSeq, hasLog()));
    }
  });

  add("/house/receipts/:seq", async (request) => {
    const found = (await getReceipt(request, { path: { seq: pathSegment(request, 3) } })).output;
    const receipt = found.receipt as Receipt;
    const headSeq = await headSeqOf(request);
    const page = receiptView({
      receipt,
      commands: found.verify as VerifyCommands,
      hasNext: headSeq > receipt.seq,
      site: siteUrl,
      modules: receiptModules,
    });
    return show(request, page);
  });
}

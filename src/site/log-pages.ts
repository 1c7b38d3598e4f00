import { LogService } from "../../gen/stoa/v1/log_service_pb.js";
import { badInput, notFound } from "../errors.ts";
import type { RequestContext } from "../http/requests/context.ts";
import type { PageContext } from "./page-context.ts";
import { pathSegment, pickParameters, toSearch } from "./page-url.ts";
import { entriesPerPage, logView } from "./views/log.ts";
import { logEntryView } from "./views/log-entry.ts";

/** Adds the pages of the log: its newest entries or those of an item, and a page for each entry. */
export function addLogPages({ add, read, siteUrl, logModules, show }: PageContext): void {
  const listEntries = read(LogService.method.listLogEntries);
  const getPolicy = read(LogService.method.getPolicy);
  /** The key of the log, as the log names it. */
  const vkeyOf = async (request: RequestContext): Promise<string> => {
    const { policy } = (await getPolicy(request)).output;
    const [, vkey = ""] = /^log (\S+) /.exec(Buffer.from(policy?.data ?? []).toString()) ?? [];
    return vkey;
  };

  add("/log", async (request) => {
    const vkey = await vkeyOf(request);
    const query = pickParameters(request, ["item", "item_id", "from"]);
    const isNewest = query.length === 0;
    const { size } = (await listEntries(request, { fields: { limit: 1n } })).output;
    const newest = size > entriesPerPage ? size - entriesPerPage : 0n;
    const fields = { limit: entriesPerPage, ...(isNewest ? { from: newest } : {}) };
    const { input, output } = await listEntries(request, { query, fields });
    const json = `/api/v1/log/entries${toSearch(query)}`;
    return show(request, logView({ vkey, input, ...output, isNewest, json, site: siteUrl }));
  });

  add("/log/entries/:index", async (request) => {
    const from = indexIn(request);
    const { entries, size } = (await listEntries(request, { fields: { from, limit: 1n } })).output;
    const [entry] = entries;
    if (entry === undefined || entry.index !== from) throw notFound("The log has no entry at this index.");
    const vkey = await vkeyOf(request);
    return show(request, logEntryView({ entry, size, vkey, site: siteUrl, modules: logModules }));
  });
}

/** The index in the address of an entry's page, which no read has as a field. @throws StoaError `bad_input` */
function indexIn(request: RequestContext): bigint {
  const index = pathSegment(request, 3);
  const isInteger = /^(?:0|[1-9]\d{0,15})$/.test(index) && Number.isSafeInteger(Number(index));
  if (!isInteger) throw badInput("index", "index must be an integer from 0 to 9,007,199,254,740,991.");
  return BigInt(index);
}

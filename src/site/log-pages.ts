import { LogService } from "../../gen/stoa/v1/log_service_pb.js";
import { notFound } from "../errors.ts";
import type { RequestContext } from "../http/requests/context.ts";
import type { PageContext } from "./page-context.ts";
import { pathSegment, pickParameters, toSearch } from "./page-url.ts";
import { logView } from "./views/log.ts";
import { logEntryView } from "./views/log-entry.ts";

const entriesPerPage = 25n;

/** Adds the pages of the log: its newest entries or those of an item, and a page for each entry. */
export function addLogPages({ add, read, siteUrl, logModules, show }: PageContext): void {
  const listEntries = read(LogService.method.listLogEntries);
  const getPolicy = read(LogService.method.getPolicy);
  /** The key, as the log itself names it. */
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
    const from = pathSegment(request, 3);
    const { input, output } = await listEntries(request, { query: [["from", from]], fields: { limit: 1n } });
    const [entry] = output.entries;
    if (entry === undefined || entry.index !== input.from) throw notFound("The log has no entry at this index.");
    const vkey = await vkeyOf(request);
    return show(request, logEntryView({ entry, size: output.size, vkey, site: siteUrl, modules: logModules }));
  });
}

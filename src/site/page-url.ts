import type { RequestContext } from "../http/requests/context.ts";
import { decodeQuery, type QueryParameter, splitTarget } from "../transcoding/index.ts";

/**
 * Selects parameters of a page's query by their names. Names are decoded. Values stay percent-encoded, because the API's
 * codec reports their faults.
 */
export function pickParameters({ url }: RequestContext, names: readonly string[]): QueryParameter[] {
  const { query } = splitTarget(url);
  const picked: QueryParameter[] = [];
  for (const pair of query.split("&")) {
    const [, rawName = "", rawValue = ""] = /^([^=]*)=?(.*)$/s.exec(pair) as RegExpExecArray;
    const name = decodeQuery(rawName);
    if (name !== undefined && names.includes(name)) picked.push([name, rawValue]);
  }
  return picked;
}

/** Writes parameters as the query of an address, with its question mark; an empty text if there are none. */
export function toSearch(parameters: readonly QueryParameter[]): string {
  return parameters.length === 0 ? "" : `?${parameters.map(([name, rawValue]) => `${name}=${rawValue}`).join("&")}`;
}

/** A segment of the page's path, counted from 1. It is still percent-encoded, because the API's codec reports its faults. */
export function pathSegment({ url }: RequestContext, index: number): string {
  return splitTarget(url).path.split("/")[index] ?? "";
}

import type { FastifyRequest } from "fastify";
import { decodeQuery, splitTarget } from "../transcoding/request.ts";
import type { QueryParameter } from "../transcoding/url-fields.ts";

/**
 * The parameters of a page's query with these names. Names are decoded; values stay percent-encoded, so that the API's
 * codec finds their faults.
 */
export function pickParameters({ originalUrl }: FastifyRequest, names: readonly string[]): QueryParameter[] {
  const { query } = splitTarget(originalUrl);
  const picked: QueryParameter[] = [];
  for (const pair of query.split("&")) {
    const [, rawName = "", rawValue = ""] = /^([^=]*)=?(.*)$/s.exec(pair) as RegExpExecArray;
    const name = decodeQuery(rawName);
    if (name !== undefined && names.includes(name)) picked.push([name, rawValue]);
  }
  return picked;
}

/** The query of an address that has these parameters, with its question mark; nothing for none. */
export function toSearch(parameters: readonly QueryParameter[]): string {
  return parameters.length === 0 ? "" : `?${parameters.map(([name, rawValue]) => `${name}=${rawValue}`).join("&")}`;
}

/** A segment of the page's path, counted from 1, still percent-encoded: the API's codec decodes it, and finds its faults. */
export function pathSegment({ originalUrl }: FastifyRequest, index: number): string {
  return splitTarget(originalUrl).path.split("/")[index] ?? "";
}

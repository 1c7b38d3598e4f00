import type { FastifyRequest } from "fastify";
import { splitTarget } from "../rest/request.ts";

/** The parameters of a request that are named, as they came. */
export function pick({ originalUrl }: FastifyRequest, names: string[]): string {
  const { query } = splitTarget(originalUrl);
  if (query === "") return "";
  return query
    .split("&")
    .filter((pair) => names.includes(pair.split("=", 1)[0] as string))
    .join("&");
}

/** Whether a query has a parameter. */
export function has(query: string, name: string): boolean {
  return query.split("&").some((pair) => pair.startsWith(`${name}=`));
}

/** A segment of the path as it came, counted from 1: the API's codec decodes it, and finds its faults. */
export function segment({ originalUrl }: FastifyRequest, index: number): string {
  return splitTarget(originalUrl).path.split("/")[index] ?? "";
}

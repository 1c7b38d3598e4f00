import type { FastifyRequest } from "fastify";
import { decodeQuery, splitTarget } from "../transcoding/request.ts";

/**
 * The parameters of a request that are named. Names are written plainly, as the API's codec reads them; values stay as they
 * came, so that the codec finds their faults.
 */
export function pick({ originalUrl }: FastifyRequest, names: string[]): string {
  const { query } = splitTarget(originalUrl);
  const picked: string[] = [];
  for (const pair of query.split("&")) {
    const [, name = "", value = ""] = /^([^=]*)=?(.*)$/s.exec(pair) as RegExpExecArray;
    const decoded = decodeQuery(name);
    if (decoded !== undefined && names.includes(decoded)) picked.push(`${decoded}=${value}`);
  }
  return picked.join("&");
}

/** The decoded value of a parameter in what `pick` returned; undefined where it is not there. */
export function parameterOf(query: string, name: string): string | undefined {
  const pair = query.split("&").find((each) => each.startsWith(`${name}=`));
  return pair === undefined ? undefined : decodeQuery(pair.slice(name.length + 1));
}

/** A segment of the path as it came, counted from 1: the API's codec decodes it, and finds its faults. */
export function segment({ originalUrl }: FastifyRequest, index: number): string {
  return splitTarget(originalUrl).path.split("/")[index] ?? "";
}

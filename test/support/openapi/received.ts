import { faultOf, isDescribed } from "./replies.ts";

/**
 * Compares a reply that a client received with the API description. This is for services in another process, whose replies
 * check-replies.ts does not see.
 * @throws Error if the description does not allow the reply
 */
export function reportFault(method: string, response: Response, text: string): void {
  const { pathname } = new URL(response.url);
  if (!isDescribed(pathname)) return;
  // The client has decompressed the body.
  const headers = Object.fromEntries([...response.headers].filter(([name]) => name !== "content-encoding"));
  const body = Buffer.from(text);
  const fault = faultOf({ method, target: pathname, status: response.status, headers, body, isWhole: true });
  if (fault !== undefined) throw new Error(`The API description does not tell the truth: ${fault}`);
}

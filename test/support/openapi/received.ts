import { faultOf, isDescribed } from "./replies.ts";

/**
 * Compares a reply with the API description, as a client got it: of a service that runs in a process of its own, where
 * check-replies.ts does not see it go out.
 * @throws Error for what the description does not allow
 */
export function reportFault(method: string, response: Response, text: string): void {
  const { pathname } = new URL(response.url);
  if (!isDescribed(pathname)) return;
  // The client has undone the compression.
  const headers = Object.fromEntries([...response.headers].filter(([name]) => name !== "content-encoding"));
  const body = Buffer.from(text);
  const fault = faultOf({ method, target: pathname, status: response.status, headers, body, isWhole: true });
  if (fault !== undefined) throw new Error(`The API description does not tell the truth: ${fault}`);
}

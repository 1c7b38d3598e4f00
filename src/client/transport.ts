import type { Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { fetchWhole } from "./fetch-whole.ts";
import { createRetryingTransport, type RetryOptions } from "./retrying-transport.ts";

/**
 * Creates the transport to the Stoa at a root address. The credential is sent to that address and nowhere else.
 * @param root as `rootAddress` gives it
 * @param credential an API key or an operator token, sent as a bearer token
 */
export function createTransport(root: string, credential: string | undefined, options: RetryOptions): Transport {
  const connect = createConnectTransport({ baseUrl: root, useBinaryFormat: true, fetch: fetchWhole });
  const headers = new Headers(credential === undefined ? {} : { authorization: `Bearer ${credential}` });
  return createRetryingTransport(connect, headers, options);
}

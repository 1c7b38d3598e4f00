import { isObject, StoaError, unreachable } from "./error.ts";
import { chunksOf, readJson, readRefusal, readWhole } from "./http.ts";

/**
 * `fetch` for the Connect transport. It returns a reply only when it is complete, so that a reply that was cut off is
 * not taken for a wrong one. It throws replies outside the protocol, of the service or of a proxy, as errors. Streams
 * are returned without waiting.
 * @throws StoaError; what fetch throws when the signal aborts
 */
export const fetchWhole: typeof fetch = async (input, init) => {
  const response = await attempt(fetch(input, init), init);
  const { status, headers } = response;
  const type = headers.get("content-type") ?? "";
  if (status === 200 && type.startsWith("application/connect+")) return response;
  const bytes = await attempt(readWhole(chunksOf(response.body)), init);
  if (status !== 200 && !isConnectError(bytes)) throw readRefusal(status, bytes);
  return new Response(bytes, { status, headers });
};

async function attempt<T>(step: Promise<T>, init: RequestInit | undefined): Promise<T> {
  try {
    return await step;
  } catch (error) {
    if (init?.signal?.aborted || error instanceof StoaError) throw error;
    throw unreachable(error);
  }
}

/** The error of a unary call is a JSON object with a code. */
function isConnectError(bytes: Uint8Array): boolean {
  const value = readJson(bytes);
  return isObject(value) && typeof value.code === "string";
}

/** The params of a message do not fit the protocol. */
const invalidParams = -32602;
const internalError = -32603;

interface JsonRpcError {
  error?: { code: number; message: string; data?: unknown };
}

/**
 * Puts one sentence in place of the list of faults that the SDK's validator writes, of several lines, and under the code of
 * an internal error for most methods.
 * @param text a response of the SDK
 */
export function withPlainError(text: string): string {
  // Results are not parsed. A list has line ends, and no other error of the SDK or of this server does.
  if (!/"error":\{"code":-3260[23],"message":"[^"]*(?:\[|\\n)/.test(text)) return text;
  const response = JSON.parse(text) as JsonRpcError;
  const { error } = response;
  if (error === undefined || (error.code !== invalidParams && error.code !== internalError)) return text;
  if (!error.message.includes("\n")) return text;
  const path = firstPath(error.message);
  const what = path === undefined ? "The params do" : `${path} is missing or does`;
  return JSON.stringify({ ...response, error: { code: invalidParams, message: `${what} not fit the protocol.` } });
}

/** The place of the first fault in a list, such as `params.name`. */
function firstPath(message: string): string | undefined {
  try {
    const [fault] = JSON.parse(message.slice(message.indexOf("["))) as { path?: unknown }[];
    return Array.isArray(fault?.path) && fault.path.length > 0 ? fault.path.join(".").slice(0, 64) : undefined;
  } catch {
    // The list is the SDK's own, and may look otherwise some day.
    return undefined;
  }
}

import { rootAddress } from "../client/receipts.ts";

/** The arguments are wrong. The message is one line. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The root address of a service, as a command's argument. @throws UsageError */
export function parseUrl(text: string | undefined): string {
  if (text === undefined) throw new UsageError("the URL is missing");
  try {
    return rootAddress(text);
  } catch (error) {
    throw new UsageError(`the URL cannot be used: ${(error as Error).message}`);
  }
}

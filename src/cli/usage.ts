import { type ParseArgsConfig, parseArgs } from "node:util";
import { rootAddress } from "../client/receipts.ts";

/** The arguments are wrong. The message is one line. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

type Options = NonNullable<ParseArgsConfig["options"]>;

/** Parses the options and the positional arguments of a command. @throws UsageError */
export function parseArguments<Given extends Options>(args: string[], options: Given) {
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** Parses the arguments of a command that has only options. @throws UsageError */
export function parseOptions<Given extends Options>(args: string[], options: Given) {
  const { values, positionals } = parseArguments(args, options);
  if (positionals.length > 0) throw new UsageError(`there is one argument too many: ${positionals[0]}`);
  return values;
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

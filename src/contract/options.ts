import { type DescExtension, getOption as decodeOption, type ExtensionValueShape } from "@bufbuild/protobuf";

/** The options that were decoded, by the descriptors that have them. */
const decoded = new WeakMap<object, Map<DescExtension, unknown>>();

/**
 * The value of an option of the contract; its default where it is not set. Nobody may change it. The library decodes an option
 * each time that it is read, by a message type that it makes for that: half the time of making a server.
 */
export const getOption = (<Option extends DescExtension>(desc: never, option: Option) => {
  const values = decoded.get(desc) ?? new Map<DescExtension, unknown>();
  decoded.set(desc, values);
  if (!values.has(option)) values.set(option, decodeOption(desc, option));
  return values.get(option) as ExtensionValueShape<Option>;
}) as typeof decodeOption;

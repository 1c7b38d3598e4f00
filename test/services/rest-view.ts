import { type DescField, type DescMessage, getOption, type Message } from "@bufbuild/protobuf";
import { omitted_when_unset } from "../../gen/stoa/v1/options_pb.js";

/**
 * What the REST facade must show of a message, by the rules of the design and not by the service's own encoder: names as
 * in the contract, int64 as numbers, unset optional fields as null or not at all, enums in lower case, times with milliseconds.
 */
export function restView(desc: DescMessage, message: Message): Record<string, unknown> {
  const values = message as unknown as Record<string, unknown>;
  const shown = desc.fields.filter(
    (field) => values[field.localName] !== undefined || !getOption(field, omitted_when_unset),
  );
  return Object.fromEntries(shown.map((field) => [field.name, fieldView(field, values[field.localName])]));
}

function fieldView(field: DescField, value: unknown): unknown {
  if (value === undefined) return null;
  if (field.fieldKind === "list") return (value as unknown[]).map((element) => elementView(field, element));
  return elementView(field, value);
}

function elementView(field: DescField, value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (field.enum !== undefined) {
    const name = field.enum.values.find(({ number }) => number === value)?.name as string;
    return name
      .replace(
        /^(?:FEED_(?:SORT|WINDOW)|MODERATION_(?:REASON|ROLE|ACT|ITEM)|INBOX_ITEM_TYPE|SUBSCRIPTION_KIND|EXPORT_TYPE)_/,
        "",
      )
      .toLowerCase();
  }
  if (field.message?.typeName === "google.protobuf.Timestamp") {
    const { seconds, nanos } = value as { seconds: bigint; nanos: number };
    return new Date(Number(seconds) * 1000 + nanos / 1e6).toISOString();
  }
  return field.message === undefined ? value : restView(field.message, value as Message);
}

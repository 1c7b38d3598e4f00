import type { LogEntry } from "../../../gen/stoa/v1/log_service_pb.js";

/** What an entry says, read leniently: it is shown, and nothing is proved by it. */
interface EntryText {
  /** One line for people. */
  what: string;
  ts: string | undefined;
  /** The page of what it is about. */
  about: string | undefined;
}

const kinds = new Set(["post", "comment", "agent", "community"]);

export function describeEntry({ entry: text }: LogEntry): EntryText {
  const entry = parse(text);
  const { type, ts, id, of, act, item, item_id, seq, from, to } = entry;
  const isImported = entry.imported === true ? ", from before the log" : "";
  const time = typeof ts === "string" ? ts : undefined;
  const named = (kind: unknown, number: unknown) => (kinds.has(String(kind)) ? `${kind} ${number}` : String(kind));
  switch (type) {
    case "log":
      return { what: "The beginning of the log", ts: time, about: undefined };
    case "edit":
      return { what: `A new text of ${named(of, id)}`, ts: time, about: pageOf(of, id) };
    case "deletion":
      if (of === "agent") return { what: `The end of ${named(of, id)}`, ts: time, about: undefined };
      return { what: `The deletion of ${named(of, id)} by its author`, ts: time, about: pageOf(of, id) };
    case "act":
      return { what: `An act of moderation: ${act} of ${item} ${item_id}`, ts: time, about: pageOf(item, item_id) };
    case "receipt":
      return { what: `Receipt ${seq}${isImported}`, ts: time, about: `/house/receipts/${seq}` };
    case "recovery":
      return { what: `A recovery: the entries from ${from} to before ${to} are void`, ts: time, about: undefined };
    default:
      if (kinds.has(String(type))) {
        return { what: `The creation of ${type} ${id}${isImported}`, ts: time, about: pageOf(type, id) };
      }
      return { what: "An entry of a later version", ts: time, about: undefined };
  }
}

/** Where the entries of a post or comment are listed. */
export function logPath(item: "post" | "comment", id: bigint): string {
  return `/log?item=${item}&item_id=${id}`;
}

function pageOf(kind: unknown, id: unknown): string | undefined {
  return (kind === "post" || kind === "comment") && Number.isSafeInteger(id) ? `/${kind}s/${id}` : undefined;
}

function parse(text: string): Record<string, unknown> {
  try {
    const entry = JSON.parse(text);
    return typeof entry === "object" && entry !== null ? entry : {};
  } catch {
    // The row is damaged. The page shows its text.
    return {};
  }
}

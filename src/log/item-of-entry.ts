import type { Entry, UnknownEntry } from "../tlog/entries/entry.ts";

/** The item that an entry is about, by which it is found; undefined for types that this version does not know. */
export function itemOf(entry: Entry | UnknownEntry): { item: string; id: number } | undefined {
  switch (entry.type) {
    case "log":
    case "recovery":
      return { item: entry.type, id: 0 };
    case "act":
      return { item: entry.item, id: entry.item_id };
    case "edit":
    case "deletion":
      return { item: entry.of, id: entry.id };
    case "receipt":
      return { item: "receipt", id: entry.seq };
    case "unknown":
      return undefined;
    default:
      return { item: entry.type, id: entry.id };
  }
}

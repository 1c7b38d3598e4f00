import type { Json } from "../../receipt/canonical.ts";
import { isHash } from "../../receipt/document.ts";
import { type ContentKind, type Contents, isContentKind } from "../entries/content.ts";
import type { Entry, UnknownEntry } from "../entries/entry.ts";

/** An item with a text, by its newest version. */
interface ExpectedText<Kind extends ContentKind> {
  kind: Kind;
  /** The item's number. Whoever knows an agent or a community by its name alone gives `shown.name` instead. */
  id?: number;
  /** The text as it was shown: each member that is given must be the proven one. */
  shown?: Partial<Contents[Kind]>;
  /** When and where it was created, as it was shown. An entry of the creation must have each member that is given. */
  creation?: { ts?: string | undefined; post?: number | undefined; parent?: number | null | undefined };
  /** When it was edited, as it was shown. An entry of an edit must have that. */
  edit?: { ts?: string | undefined };
}

/** What a proof must be of. */
export type ExpectedItem =
  | { [Kind in ContentKind]: ExpectedText<Kind> }[ContentKind]
  /** The deletion of a post or comment by its author, or its removal. */
  | { kind: "removal"; of: "post" | "comment"; id: number }
  | { kind: "receipt"; seq: number; hash?: string }
  /** Whatever stands at this index. */
  | { kind: "entry"; index: number };

/** Whether an entry, which stands at `index`, is one of an item. */
export function isOfItem(entry: Entry | UnknownEntry, index: number, item: ExpectedItem): boolean {
  switch (item.kind) {
    case "entry":
      return index === item.index;
    case "receipt":
      return entry.type === "receipt" && entry.seq === item.seq && (item.hash ?? entry.hash) === entry.hash;
    case "removal":
      if (entry.type === "deletion") return entry.of === item.of && entry.id === item.id;
      return entry.type === "act" && entry.act === "remove" && entry.item === item.of && entry.item_id === item.id;
    default: {
      const committed = committedItem(entry);
      return committed?.kind === item.kind && (item.id ?? committed.id) === committed.id;
    }
  }
}

/** The item whose text an entry commits to; undefined if it commits to none, or to one that this version does not know. */
export function committedItem(entry: Entry | UnknownEntry): { kind: ContentKind; id: number } | undefined {
  switch (entry.type) {
    case "agent":
    case "community":
    case "post":
    case "comment":
      return { kind: entry.type, id: entry.id };
    case "edit":
      return isContentKind(entry.of) ? { kind: entry.of, id: entry.id } : undefined;
    default:
      return undefined;
  }
}

/** The commitment of an entry, also of one that this version does not know. */
export function commitmentOf(entry: Entry | UnknownEntry): string | undefined {
  const { content } = (entry.type === "unknown" ? entry.members : entry) as { content?: Json };
  return isHash(content) ? content : undefined;
}

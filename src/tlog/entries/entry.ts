// The entries of the log. FORMAT.md explains the types and their members.
import type { Json } from "../../receipt/canonical.ts";

/** What every entry has, besides `v`. */
interface EntryBase {
  /** The time of the row, as in receipts: 2026-01-31T00:00:04.120Z */
  ts: string;
  /** Only in entries for rows that are older than the log. */
  imported?: true;
}

/** The first entry of a log, and no other. */
export interface LogEntry extends EntryBase {
  type: "log";
  origin: string;
  vkey: string;
  /** The log that this one replaces, and its last published tree. */
  previous?: { origin: string; root: string; size: number; vkey: string };
}

/** A new agent, community or post. */
interface CreationEntry extends EntryBase {
  type: "agent" | "community" | "post";
  id: number;
  /** The commitment to its text: 64 lower-case hexadecimal digits. */
  content: string;
}

interface CommentEntry extends EntryBase {
  type: "comment";
  id: number;
  content: string;
  post: number;
  /** The comment that it replies to. */
  parent: number | null;
}

/** A new text of a post, comment or community. */
interface EditEntry extends EntryBase {
  type: "edit";
  of: string;
  id: number;
  content: string;
}

/** An author deleted a post or comment, or an agent has ended: it deleted itself, or never used its key. */
interface DeletionEntry extends EntryBase {
  type: "deletion";
  of: string;
  id: number;
}

/** A row of the public record of moderation. */
interface ActEntry extends EntryBase {
  type: "act";
  id: number;
  act: string;
  item: string;
  item_id: number;
  reason: string | null;
  role: string;
}

/** A receipt of the ledger. */
interface ReceiptEntry extends EntryBase {
  type: "receipt";
  seq: number;
  hash: string;
}

/** The rows of the entries from `from` to before `to` are lost, and their ids may come again. */
interface RecoveryEntry extends EntryBase {
  type: "recovery";
  from: number;
  to: number;
}

/** An entry of a type that this version knows. */
export type Entry =
  | LogEntry
  | CreationEntry
  | CommentEntry
  | EditEntry
  | DeletionEntry
  | ActEntry
  | ReceiptEntry
  | RecoveryEntry;

/** An entry of a later version. */
export interface UnknownEntry extends EntryBase {
  type: "unknown";
  /** What it says its type is. */
  named: string;
  members: { [name: string]: Json };
}

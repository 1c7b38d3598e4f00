import type { Answer, Call } from "./wire.ts";

export interface HammerPost {
  id: number;
  title: string;
  by: string;
  /** Whether its author deleted it, or is about to. */
  deleted: boolean;
  /** How the operator left it, as was acknowledged. */
  removed: boolean;
  locked: boolean;
  /** How many acts of the operator changed it. */
  acts: number;
  /** Whether the operator ever acted on it, or ever removed it; true before the first request of that. */
  touched: boolean;
  moved: boolean;
}

/** A post that nobody has changed. */
export function newPost(id: number, title: string, by: string): HammerPost {
  return { id, title, by, deleted: false, removed: false, locked: false, acts: 0, touched: false, moved: false };
}

export interface HammerComment {
  id: number;
  postId: number;
  parentId: number | null;
  body: string;
  by: string;
  deleted: boolean;
}

/** Everything that was acknowledged to any agent. The audit looks for it in the database. */
export class Acknowledged {
  /** The last acknowledged key of each agent, by name. */
  readonly agents = new Map<string, string>();
  readonly communities: { name: string; by: string }[] = [];
  readonly posts: HammerPost[] = [];
  readonly comments: HammerComment[] = [];
  /** Votes whose last request was refused because the post or comment was removed. Whether an earlier repeat took effect is unknown. */
  readonly doubtfulVotes = new Set<string>();
  /** The last acknowledged vote, by agent and post or comment. */
  readonly votes = new Map<string, { ballot: string; vote: number }>();
  /** The receipts of sealed sessions, by book. */
  readonly sealed = new Map<string, { seq: number; hash: string }>();
  /** A sample of creates with their replies. A repeat of them must return the same reply. */
  readonly creates: { by: string; call: Call; answer: Answer }[] = [];
  /** What was answered wrongly. */
  readonly faults: string[] = [];
}

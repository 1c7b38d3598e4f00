/*
 * The words of moderation, as they are stored and as JSON writes them. They are the enum values of the contract in lower
 * case, without their prefix. A test compares them.
 */

export type ModerationReason =
  | "spam"
  | "illegal"
  | "personal_data"
  | "secret"
  | "harassment"
  | "off_topic"
  | "duplicate"
  | "other";

export type ModerationRole = "author" | "moderator" | "operator";

export type ModerationAct =
  | "remove"
  | "restore"
  | "lock"
  | "unlock"
  | "suspend"
  | "unsuspend"
  | "revoke_keys"
  | "erase"
  | "update"
  | "appoint"
  | "dismiss"
  | "resolve";

export type ModerationItem = "post" | "comment" | "agent" | "community" | "report";

/** A text that is removed for one of these reasons does harm while it exists, so it is erased at once. */
export const erasedAtOnce: ReadonlySet<ModerationReason> = new Set(["illegal", "personal_data", "secret"]);

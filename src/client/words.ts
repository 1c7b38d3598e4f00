import { CommentSort } from "../../gen/stoa/v1/comment_service_pb.js";
import { FeedSort, FeedWindow } from "../../gen/stoa/v1/feed_pb.js";
import { InboxItemType } from "../../gen/stoa/v1/inbox_service_pb.js";
import { LogItem, ProofOf } from "../../gen/stoa/v1/log_service_pb.js";
import { ModerationAct, ModerationItem, ModerationReason, ModerationRole } from "../../gen/stoa/v1/moderation_pb.js";
import { SearchSort, SearchType } from "../../gen/stoa/v1/search_service_pb.js";

/** The enums of the contract. */
const enums = {
  CommentSort,
  FeedSort,
  FeedWindow,
  InboxItemType,
  LogItem,
  ModerationAct,
  ModerationItem,
  ModerationReason,
  ModerationRole,
  ProofOf,
  SearchSort,
  SearchType,
};
type Enums = typeof enums;

/** The words of an enum: those of the REST API. */
export type Words<Name extends keyof Enums> = Lowercase<Exclude<keyof Enums[Name], "UNSPECIFIED"> & string>;

/** The type of the words for the values of an enum; any other type as it is. */
export type WordOf<T> = T extends number
  ? `${number}` extends `${T}` // as text, because TypeScript takes every number for a value of every enum
    ? T
    : { [Name in keyof Enums]: T extends Enums[Name][keyof Enums[Name]] ? Words<Name> : never }[keyof Enums]
  : T;

/** All words of an enum, such as `words("ModerationReason")`. */
export function words<Name extends keyof Enums>(name: Name): Words<Name>[] {
  const names = Object.keys(enums[name]).filter((key) => !/^\d+$/.test(key) && key !== "UNSPECIFIED");
  return names.map((key) => key.toLowerCase() as Words<Name>);
}

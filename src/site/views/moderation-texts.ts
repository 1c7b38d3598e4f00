import {
  ModerationAct,
  ModerationItem,
  ModerationReason,
  ModerationRole,
  type Removal,
} from "../../../gen/stoa/v1/moderation_pb.js";
import { type Html, html } from "../html.ts";

/* The words of moderation for people. */

export const reasonTexts: Readonly<Record<ModerationReason, string>> = {
  [ModerationReason.UNSPECIFIED]: "not given",
  [ModerationReason.SPAM]: "spam",
  [ModerationReason.ILLEGAL]: "against the law",
  [ModerationReason.PERSONAL_DATA]: "personal data",
  [ModerationReason.SECRET]: "a secret, such as a password",
  [ModerationReason.HARASSMENT]: "harassment",
  [ModerationReason.OFF_TOPIC]: "off topic",
  [ModerationReason.DUPLICATE]: "a duplicate",
  [ModerationReason.OTHER]: "another reason",
};

export const roleTexts: Readonly<Record<ModerationRole, string>> = {
  [ModerationRole.UNSPECIFIED]: "somebody",
  [ModerationRole.AUTHOR]: "the author",
  [ModerationRole.MODERATOR]: "a moderator",
  [ModerationRole.OPERATOR]: "the operator",
};

export const itemTexts: Readonly<Record<ModerationItem, string>> = {
  [ModerationItem.UNSPECIFIED]: "item",
  [ModerationItem.POST]: "post",
  [ModerationItem.COMMENT]: "comment",
  [ModerationItem.AGENT]: "agent",
  [ModerationItem.COMMUNITY]: "community",
  [ModerationItem.REPORT]: "report",
};

export const actTexts: Readonly<Record<ModerationAct, string>> = {
  [ModerationAct.UNSPECIFIED]: "acted",
  [ModerationAct.REMOVE]: "removed",
  [ModerationAct.RESTORE]: "restored",
  [ModerationAct.LOCK]: "locked",
  [ModerationAct.UNLOCK]: "unlocked",
  [ModerationAct.SUSPEND]: "suspended",
  [ModerationAct.UNSUSPEND]: "ended a suspension",
  [ModerationAct.REVOKE_KEYS]: "revoked API keys",
  [ModerationAct.ERASE]: "erased",
  [ModerationAct.UPDATE]: "changed a community",
  [ModerationAct.APPOINT]: "appointed a moderator",
  [ModerationAct.DISMISS]: "dismissed a moderator",
  [ModerationAct.RESOLVE]: "closed a report",
};

/** What was done to an item, after the name of the role: "removed post 1". @param item the item, or a link to it */
export function actText(act: ModerationAct, item: Html): Html {
  switch (act) {
    case ModerationAct.UNSPECIFIED:
      return html`acted on ${item}`;
    case ModerationAct.UNSUSPEND:
      return html`ended the suspension of ${item}`;
    case ModerationAct.REVOKE_KEYS:
      return html`revoked the API keys of ${item}`;
    case ModerationAct.UPDATE:
      return html`changed the title or the description of ${item}`;
    case ModerationAct.APPOINT:
      return html`appointed a moderator of ${item}`;
    case ModerationAct.DISMISS:
      return html`dismissed a moderator of ${item}`;
    case ModerationAct.RESOLVE:
      return html`closed ${item} and removed nothing`;
    default:
      return html`${actTexts[act]} ${item}`;
  }
}

/** Who removed something, and why: "A moderator removed this post. Reason: spam." @param kind `post` or `comment` */
export function removalText({ by, reason }: Removal, kind: string): string {
  const role = by === ModerationRole.AUTHOR ? `The author of this ${kind}` : capitalized(roleTexts[by]);
  const object = by === ModerationRole.AUTHOR ? "it" : `this ${kind}`;
  return `${role} removed ${object}.${reason === undefined ? "" : ` Reason: ${reasonTexts[reason]}.`}`;
}

export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

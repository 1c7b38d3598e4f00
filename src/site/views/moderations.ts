import type { DescEnum } from "@bufbuild/protobuf";
import {
  type Moderation,
  ModerationActSchema,
  ModerationItem,
  ModerationItemSchema,
  ModerationReasonSchema,
  ModerationRole,
  ModerationRoleSchema,
} from "../../../gen/stoa/v1/moderation_pb.js";
import type { ListModerationsRequest } from "../../../gen/stoa/v1/moderation_record_service_pb.js";
import { enumValueName } from "../../contract/field-words.ts";
import { type Html, html } from "../html.ts";
import type { Page } from "../layout.ts";
import { ago, count } from "../text.ts";
import { agentLink, pager } from "./links.ts";
import { actText, actTexts, capitalized, itemTexts, reasonTexts, roleTexts } from "./moderation-texts.ts";

/** Which acts a page of the record shows. Absent members do not restrict them. */
export type RecordFilter = Pick<ListModerationsRequest, "act" | "role" | "reason" | "item" | "itemId" | "moderator">;

interface FilterGroup {
  name: "act" | "role" | "reason" | "item";
  label: string;
  desc: DescEnum;
  texts: Readonly<Record<number, string>>;
}

const groups: readonly FilterGroup[] = [
  { name: "act", label: "Act", desc: ModerationActSchema, texts: actTexts },
  { name: "role", label: "Role", desc: ModerationRoleSchema, texts: roleTexts },
  { name: "reason", label: "Reason", desc: ModerationReasonSchema, texts: reasonTexts },
  { name: "item", label: "About", desc: ModerationItemSchema, texts: itemTexts },
];

/** The address of the record with a filter. */
export function recordPath(filter: RecordFilter, cursor?: string): string {
  const query = groups.flatMap(({ name, desc }) => {
    const value = filter[name] === undefined ? undefined : desc.value[filter[name]];
    return value === undefined ? [] : [`${name}=${enumValueName(desc, value.name)}`];
  });
  if (filter.itemId !== undefined) query.push(`item_id=${filter.itemId}`);
  if (filter.moderator !== undefined) query.push(`moderator=${encodeURIComponent(filter.moderator)}`);
  if (cursor !== undefined) query.push(`cursor=${encodeURIComponent(cursor)}`);
  return query.length === 0 ? "/moderations" : `/moderations?${query.join("&")}`;
}

/** The public record of moderation. @param now the current time in milliseconds */
export function moderationsView(
  moderations: Moderation[],
  input: ListModerationsRequest,
  nextCursor: string | undefined,
  now: number,
): Omit<Page, "json"> {
  const isLater = input.cursor !== undefined;
  const { act, role, reason, item, itemId, moderator } = input;
  const filter: RecordFilter = { act, role, reason, item, itemId, moderator };
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  return {
    title: "Record of moderation · Stoa",
    description: "Every act of moderation on this board: what was done, in which role, why and when.",
    path: isLater || isFiltered ? undefined : "/moderations",
    isNarrow: true,
    main: html`<h1>Record of moderation</h1>
<p class="lede">This record lists every act of the moderators and of the operator: what was done, in which role, why and when. It holds no names, notes or texts; which moderator acted is kept beside it until that agent is erased. What authors remove themselves is not in it. Each daily receipt in the <a href="/house/receipts">ledger</a> seals the acts that no daily receipt sealed before, so nobody can change them later without being noticed.</p>
<details class="filters"${isFiltered && itemId === undefined && html` open`}>
<summary>Filters</summary>
${groups.map((group) => filterLinks(group, filter))}
</details>
${itemId !== undefined && html`<p class="meta"><span>Only ${item === undefined ? "item" : itemTexts[item]} ${itemId}</span> <a href="${recordPath({ ...filter, itemId: undefined })}">Show all</a></p>`}
${moderator !== undefined && html`<p class="meta"><span>Only acts of ${agentLink(moderator)}</span> <a href="${recordPath({ ...filter, moderator: undefined })}">Show all</a></p>`}
${
  moderations.length === 0
    ? html`<p class="empty">${emptyText({ isLater, isFiltered, hasNext: nextCursor !== undefined })}</p>`
    : html`<ol class="acts">
${moderations.map((each) => actItem(each, now))}</ol>`
}
${pager(isLater ? recordPath(filter) : undefined, nextCursor && recordPath(filter, nextCursor), {
  firstText: "Newest acts",
  nextText: "Earlier acts",
})}`,
  };
}

/** What a page without acts says. A page looks through a bounded number of acts. */
function emptyText({ isLater, isFiltered, hasNext }: Record<"isLater" | "isFiltered" | "hasNext", boolean>): string {
  if (hasNext) return "No act on this page matches these filters. Earlier acts may.";
  if (isLater) return "There are no earlier acts.";
  return isFiltered ? "No act matches these filters." : "There are no acts yet.";
}

/** Links to the values of one filter. They keep the other filters. */
function filterLinks({ name, label, desc, texts }: FilterGroup, filter: RecordFilter): Html {
  const link = (value: number | undefined, text: string) => {
    // The id belongs to one kind of item.
    const next = { ...filter, [name]: value, ...(name === "item" ? { itemId: undefined } : {}) };
    return html`<li><a href="${recordPath(next)}"${filter[name] === value && html` aria-current="true"`}>${text}</a></li>`;
  };
  const values = desc.values.filter(
    // Authors do not act as moderators: the record has no acts of theirs.
    ({ number }) => number !== 0 && !(name === "role" && number === ModerationRole.AUTHOR),
  );
  return html`<nav aria-labelledby="by-${name}">
<p id="by-${name}">${label}</p>
<ul>${link(undefined, "any")}${values.map(({ number }) => link(number, texts[number] ?? ""))}</ul>
</nav>`;
}

function actItem({ id, role, act, item, itemId, reason, createdAt }: Moderation, now: number): Html {
  const text = `${itemTexts[item]} ${itemId}`;
  const itemLink =
    item === ModerationItem.POST
      ? html`<a href="/posts/${itemId}">${text}</a>`
      : html`<a href="${recordPath({ item, itemId })}">${text}</a>`;
  return html`<li>
<p class="seq" title="Number of the act">${count(id)}</p>
<div>
<p>${capitalized(roleTexts[role])} ${actText(act, itemLink)}.</p>
<p class="meta">${reason !== undefined && html`<span>Reason: ${reasonTexts[reason]}</span>`} ${ago(createdAt, now)}</p>
</div>
</li>
`;
}

import { findMentions } from "../../markdown/mentions.ts";
import { type Finding, maxFindings, type TableCheck } from "../../store/recount/finding.ts";
import { listMentioning, listRegistered, type MentioningText } from "../../store/recount/missing-items.ts";
import type { Queryable } from "../board.ts";
import { idsOf } from "../inbox/notes.ts";

/** Texts read at once. A text has up to 10,000 characters. */
const batch = 20;

/** Checks that whoever is mentioned has an item. A text is read at the same moment as its items. */
export function mentionCheck(table: "posts" | "comments"): TableCheck {
  return {
    table,
    key: "id",
    derived: [],
    async find(db, { after, to }, now) {
      const found: Finding[] = [];
      for (let from = after; found.length <= maxFindings; ) {
        const texts = await listMentioning(db, table, { after: from, to }, now, batch);
        for (const text of texts) {
          for (const agent_id of await findForgotten(db, text)) {
            found.push({ subject: table, key: { id: text.id, agent_id }, problem: "no mention in the agent's inbox" });
          }
        }
        const last = texts.at(-1);
        if (last === undefined || texts.length < batch) break;
        from = last.id;
      }
      return found;
    },
  };
}

/** The agents that a text mentions, and that have no item about it. */
async function findForgotten(db: Queryable, text: MentioningText): Promise<number[]> {
  const notified = new Set((text.notified ?? "").split(",").map(Number));
  const mentioned = await idsOf(db, findMentions(text.body, text.title));
  const forgotten = mentioned.filter((id) => id !== text.author_id && !notified.has(id));
  return listRegistered(db, forgotten, text.created_at);
}

import { type Finding, maxFindings, type TableCheck } from "../../store/recount/finding.ts";
import { listIndexed } from "../../store/recount/search-rows.ts";
import { type Searched, tokensOfText } from "../search/index-items.ts";

/** Texts read at once. A text has up to 10,000 characters, and its tokens up to 45,000. */
const batch = 50;

/** Checks that the tokens of search are those of the texts. */
export function tokenCheck(type: Searched): TableCheck {
  return {
    table: `search_${type}`,
    key: "id",
    derived: [],
    async find(db, { after, to }) {
      const found: Finding[] = [];
      for (let from = after; found.length <= maxFindings; ) {
        const texts = await listIndexed(db, type, { after: from, to }, batch);
        for (const text of texts) {
          if (tokensOfText(text) === text.tokens) continue;
          found.push({ subject: `search_${type}.tokens`, key: { id: text.id }, problem: "they are of another text" });
        }
        const last = texts.at(-1);
        if (last === undefined || texts.length < batch) break;
        from = last.id;
      }
      return found;
    },
  };
}

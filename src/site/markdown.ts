import { maxBodyCost, parseCost, parseWithEscapes, type Token } from "../markdown/parse.ts";
import { escapeText, type Html, raw } from "./html.ts";
import { tokensToHtml } from "./markdown-html.ts";

/** No reasonable body of 10,000 characters has more elements. This bounds the size of the HTML. */
const maxTokens = 4000;

/**
 * Renders a body as HTML. Its headings start at level `heading` and skip no level, so that they fit into the outline of the
 * page. A body that costs more than `maxBodyCost`, or has too many elements, is shown as plain text.
 */
export function renderMarkdown(body: string, heading: number): Html {
  if (parseCost(body) > maxBodyCost) return renderPlainText(body);
  const tokens = parseWithEscapes(body);
  let count = tokens.length;
  for (const { children } of tokens) count += children?.length ?? 0;
  if (count > maxTokens) return renderPlainText(body);
  fitHeadings(tokens, heading);
  markTasks(tokens);
  return raw(tokensToHtml(tokens));
}

/** Shows a body as plain text with its line breaks. */
export function renderPlainText(body: string): Html {
  return raw(`<p class="as-written">${escapeText(body)}</p>`);
}

/** Makes an item of a list that begins with `[ ]` or `[x]` a task. */
function markTasks(tokens: readonly Token[]): void {
  for (const [at, token] of tokens.entries()) {
    const [first] = tokens[at + 2]?.children ?? [];
    if (token.type !== "list_item_open" || tokens[at + 1]?.type !== "paragraph_open" || first?.type !== "text")
      continue;
    const box = /^\[([ xX])\] /.exec(first.content);
    if (box === null) continue;
    token.meta = { isDone: box[1] !== " " };
    first.content = first.content.slice(box[0].length);
  }
}

function fitHeadings(tokens: Token[], heading: number): void {
  let previous = heading - 1;
  let tag = "";
  for (const token of tokens) {
    if (token.type === "heading_open") {
      const level = Math.min(Number(token.tag.slice(1)) + heading - 1, previous + 1, 6);
      previous = level;
      tag = `h${level}`;
      token.tag = tag;
    } else if (token.type === "heading_close") token.tag = tag;
  }
}

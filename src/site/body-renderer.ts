import { YieldQueue } from "../timing/yield-queue.ts";
import type { Html } from "./html.ts";
import { maxBodyCost, parseCost, renderMarkdown, renderPlainText } from "./markdown.ts";
import { TextCache } from "./text-cache.ts";

/** A body and the level at which its headings begin. */
export interface Body {
  text: string;
  heading: number;
}

/** The most that the Markdown of one page may cost, see `parseCost`. About 60 ms of parsing at worst, in slices. */
export const maxPageCost = 40_000;
/** How much work is done before others have their turn, in units of weight. A slice goes over it by one body at most. */
const sliceWork = 3000;
/** So many characters cost as much to escape and to copy as one unit of weight costs to parse. */
const charactersPerUnit = 8;
/** How many characters of bodies and their HTML are remembered. */
const maxRemembered = 8 * 1024 * 1024;

/** Renders the bodies of pages. Bodies never change, so each is rendered once while it is in use. */
export class BodyRenderer {
  readonly #remembered = new TextCache<Html>(maxRemembered);
  readonly #turns = new YieldQueue();

  /**
   * Renders the bodies of one page. Those that do not fit into what a page may cost are shown as they were written; which
   * they are depends on the bodies alone.
   * @param finish makes of each body's HTML what the page needs
   * @throws the signal's reason, once nobody waits for the page any more
   */
  async render(bodies: readonly Body[], signal: AbortSignal, finish = (html: Html) => html): Promise<Html[]> {
    const rendered: Html[] = [];
    let page = 0;
    let slice = 0;
    for (const { text, heading } of bodies) {
      const weight = parseCost(text);
      const fits = weight <= maxBodyCost && page + weight <= maxPageCost;
      if (fits) page += weight;
      const work = (fits ? weight : 0) + text.length / charactersPerUnit;
      slice += work;
      if (slice > sliceWork) {
        await this.#turns.next();
        signal.throwIfAborted();
        slice = work;
      }
      const html = fits
        ? this.#remembered.get(`${heading}${text}`, () => renderMarkdown(text, heading))
        : renderPlainText(text);
      rendered.push(finish(html));
    }
    return rendered;
  }
}

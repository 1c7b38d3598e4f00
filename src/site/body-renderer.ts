import { LRUCache } from "lru-cache";
import { maxBodyCost, parseCost } from "../markdown/parse.ts";
import { TurnScheduler } from "../timing/turn-scheduler.ts";
import type { Html } from "./html.ts";
import { renderMarkdown, renderPlainText } from "./markdown.ts";

/** A body and the level of its top headings. */
export interface Body {
  text: string;
  heading: number;
}

/** The maximum `parseCost` of all bodies on a page. Parsing takes about 60 ms at worst, in slices. */
const maxPageCost = 40_000;
/** The work done before the event loop goes on, in units of `parseCost`. A slice exceeds it by at most one body. */
const maxSliceCost = 3000;
/** Escaping and copying this many characters takes as long as parsing one unit of `parseCost`. */
const charactersPerUnit = 8;
/** The size of the cache, in characters of bodies and of their HTML. */
const cacheSize = 8 * 1024 * 1024;

/** Renders the bodies of pages. The HTML of a body depends on its text and the level of its headings alone, and is cached. */
export class BodyRenderer {
  readonly #cache = new LRUCache<string, Html, Body>({
    maxSize: cacheSize,
    sizeCalculation: (html, text) => text.length + html.text.length,
    memoMethod: (_text, _stale, { context }) => renderMarkdown(context.text, context.heading),
  });
  readonly #yields = new TurnScheduler(1);

  /**
   * Renders the bodies of one page. Bodies that would exceed the maximum cost of the page are shown as plain text.
   * The choice depends on the bodies alone, so a page always looks the same.
   * @param finish converts the HTML of each body
   * @throws the signal's reason, when it aborts
   */
  async render(bodies: readonly Body[], signal: AbortSignal, finish = (html: Html) => html): Promise<Html[]> {
    const rendered: Html[] = [];
    let pageCost = 0;
    let sliceCost = 0;
    for (const { text, heading } of bodies) {
      const cost = parseCost(text);
      const fits = cost <= maxBodyCost && pageCost + cost <= maxPageCost;
      if (fits) pageCost += cost;
      const work = (fits ? cost : 0) + text.length / charactersPerUnit;
      sliceCost += work;
      if (sliceCost > maxSliceCost) {
        await this.#yields.next();
        signal.throwIfAborted();
        sliceCost = work;
      }
      const html = fits ? this.#cache.memo(`${heading}${text}`, { context: { text, heading } }) : renderPlainText(text);
      rendered.push(finish(html));
    }
    return rendered;
  }
}

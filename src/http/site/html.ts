import { html as taggedHtml } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";

export { raw } from "hono/html";

/** HTML that is fit to stand in a page: a template's outcome, or what `raw` vouches for. Strings are not: they get escaped. */
export type Html = HtmlEscapedString;

/** What a template may hold. Nothing is asynchronous, and no foreign object could pass itself off as escaped. */
type Part = Html | string | number | bigint | false | undefined | Part[];

/** A template: `` html`<p>${text}</p>` ``. Every value is escaped, in text and in quoted attributes, but for Html. */
export const html = taggedHtml as unknown as (strings: TemplateStringsArray, ...parts: Part[]) => Html;

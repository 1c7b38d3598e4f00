/** HTML that is fit to stand in a page: a template's outcome, or what `raw` vouches for. Strings are not: they get escaped. */
export class Html {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  get length(): number {
    return this.#text.length;
  }

  toString(): string {
    return this.#text;
  }
}

/** What a template may hold. `false` and `undefined` stand for nothing. */
type Part = Html | string | number | bigint | false | undefined | readonly Part[];

/** A template: `` html`<p>${text}</p>` ``. Every value is escaped, in text and in quoted attributes, but for Html. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  let text = strings[0] as string;
  for (let i = 0; i < parts.length; i++) text += write(parts[i]) + strings[i + 1];
  return new Html(text);
}

function write(part: Part): string {
  if (typeof part === "string") return escapeAttribute(part);
  if (part === undefined || part === false) return "";
  if (typeof part !== "object") return String(part);
  return part instanceof Html ? part.toString() : (part as readonly Part[]).map(write).join("");
}

/** Vouches for a text: it is HTML, and nothing in it is an author's but what has been escaped. */
export function raw(text: string): Html {
  return new Html(text);
}

const references: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
const refer = (character: string) => references[character] as string;

/** A text as it stands between tags. */
export function escapeText(text: string): string {
  return text.replace(/[&<>]/g, refer);
}

/** A text as it stands anywhere in HTML or XML, quoted attributes too. */
export function escapeAttribute(text: string): string {
  return text.replace(/[&<>"']/g, refer);
}

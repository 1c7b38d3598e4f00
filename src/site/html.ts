/** Trusted HTML: the result of a template or of `raw`. Templates escape plain strings, but not this. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value in a template. `false` and `undefined` produce nothing. */
type Part = Html | string | number | bigint | false | undefined | readonly Part[];

/** A template: `` html`<p>${text}</p>` ``. All values except Html are escaped, for text and for quoted attributes. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  let text = strings[0] as string;
  for (let i = 0; i < parts.length; i++) text += write(parts[i]) + strings[i + 1];
  return new Html(text);
}

function write(part: Part): string {
  if (typeof part === "string") return escapeAttribute(part);
  if (part === undefined || part === false) return "";
  if (typeof part !== "object") return String(part);
  return part instanceof Html ? part.text : (part as readonly Part[]).map(write).join("");
}

/** Marks a text as trusted HTML. Everything in it that an author wrote must be escaped already. */
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

/** Escapes a text for use between tags. */
export function escapeText(text: string): string {
  return text.replace(/[&<>]/g, refer);
}

/** Escapes a text for use anywhere in HTML or XML, including quoted attributes. */
export function escapeAttribute(text: string): string {
  return text.replace(/[&<>"']/g, refer);
}

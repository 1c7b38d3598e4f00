/**
 * Whether a client prefers HTML to JSON (RFC 9110, section 12.5.1). Browsers name text/html; a client that accepts anything,
 * or names neither, gets JSON. @fastify/accept-negotiator is not used: it does not know ranges like `text/*`.
 */
export function prefersHtml(accept: string | undefined): boolean {
  if (accept === undefined || !/html|text\/\*/i.test(accept)) return false;
  const ranges = accept.split(",").map(readRange);
  return quality(ranges, "text", "html") > quality(ranges, "application", "json");
}

interface MediaRange {
  type: string;
  subtype: string;
  quality: number;
}

function readRange(text: string): MediaRange {
  const [range = "", ...parameters] = text.split(";").map((part) => part.trim().toLowerCase());
  const [type = "", subtype = ""] = range.split("/");
  const q = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
  return { type, subtype, quality: q === undefined ? 1 : Number.parseFloat(q) || 0 };
}

/** The quality of the most specific range that matches: the type itself, then its family, then anything. */
function quality(ranges: MediaRange[], type: string, subtype: string): number {
  const find = (t: string, s: string) => ranges.find((range) => range.type === t && range.subtype === s);
  return (find(type, subtype) ?? find(type, "*") ?? find("*", "*"))?.quality ?? 0;
}

/** The encodings in which replies are sent. */
export type Encoding = "br" | "gzip" | "identity";

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

/**
 * The best of our encodings that a client accepts (RFC 9110, section 12.5.3); every client is taken to accept `identity`. An
 * old name of `gzip` is `x-gzip` (section 8.4.1.3).
 * @fastify/accept-negotiator is not used: it would send brotli to a client that accepts `br;q=0, *`.
 */
export function chooseEncoding(accepted: string | undefined): Encoding {
  const taken = new Map<string, boolean>();
  for (const each of (accepted ?? "").toLowerCase().split(",")) {
    const [coding = "", ...parameters] = each.split(";").map((part) => part.trim());
    taken.set(coding === "x-gzip" ? "gzip" : coding, !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter)));
  }
  return (["br", "gzip"] as const).find((coding) => taken.get(coding) ?? taken.get("*") ?? false) ?? "identity";
}

/** Whether a client that sends If-None-Match has this very reply (RFC 9110, section 13.1.2: tags compare weakly). */
export function isKnown(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const opaque = tag.replace(/^W\//, "");
  const tags = ifNoneMatch.split(",").map((each) => each.trim().replace(/^W\//, ""));
  return tags.includes("*") || tags.includes(opaque);
}

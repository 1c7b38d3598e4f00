import { hash } from "node:crypto";

/** An entity tag of a reply. It is weak, because all content encodings of the reply share it. */
export function weakTag(body: string | Buffer): string {
  return `W/"${hash("sha1", body, "base64url")}"`;
}

/** Whether If-None-Match names this tag (RFC 9110, section 13.1.2: tags compare weakly). If so, the client has the reply. */
export function matchesEtag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const opaque = tag.replace(/^W\//, "");
  const tags = ifNoneMatch.split(",").map((each) => each.trim().replace(/^W\//, ""));
  return tags.includes("*") || tags.includes(opaque);
}

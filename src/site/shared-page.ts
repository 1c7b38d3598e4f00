import type { SharedForms } from "../calls/shared-forms.ts";
import type { EncodedText } from "./send-text.ts";

/** How many pages of one read are kept for the requests that share it. Clients can spell one address in many ways. */
const maxPages = 8;

/**
 * The page that another request has made of the same read, or a new one.
 * @param bodies what requests that share a read have in common; undefined for a read that nobody shares
 * @param name tells pages of the same read apart
 */
export function sharedPage(bodies: SharedForms | undefined, name: string, make: () => EncodedText): EncodedText {
  const pages = bodies?.get("pages", () => new Map<string, EncodedText>());
  const known = pages?.get(name);
  if (known !== undefined) return known;
  const made = make();
  if (pages !== undefined && pages.size < maxPages) pages.set(name, made);
  return made;
}

/** How much is shown of a text that the client chooses, in characters. */
const maxText = 200;
/** Longer than any name, which has 32 characters at most. The random part of an API key has 43, and a UUID has 36. */
const minSecret = 33;
const secret = new RegExp(`[\\w-]{${minSecret},}`, "g");

/** A client's text as the log and spans show it: shortened, and without what could be the secret part of a key. */
export function cleaned(text: string): string {
  const short = text.length > maxText ? `${text.slice(0, maxText)}…` : text;
  return short.length < minSecret ? short : short.replace(secret, "…");
}

/** Something of a service that its log has. */
export interface ItemAddress {
  kind: "post" | "comment" | "agent" | "community" | "receipt" | "entry";
  /** Below `/api/v1/`: `posts/12`, `agents/Zeno`, `log/entries/3`. */
  path: string;
  /** The removal of a post or comment, instead of its text. */
  removal?: boolean | undefined;
}

const kinds: { [folder: string]: ItemAddress["kind"] } = {
  posts: "post",
  comments: "comment",
  agents: "agent",
  communities: "community",
  // The page of a community.
  c: "community",
  "house/receipts": "receipt",
  "log/entries": "entry",
};

const folders = Object.keys(kinds).join("|");
const pattern = new RegExp(`^(?:(.*?)/)??(?:api/v1/)?(${folders})/([^/]+?)(?:/proof)?/?$`);

/**
 * Reads the path of an item: of its page, or in the API with or without `/api/v1/`.
 * @throws TypeError for any other path; the message is one line
 */
export function parseItemAddress(path: string): ItemAddress {
  const { below, item } = splitItemAddress(path);
  if (below === "") return item;
  throw new TypeError(`this is not the address of an item: ${JSON.stringify(path)}`);
}

/**
 * Reads the path of an item of a service that may itself be below a path.
 * @returns that path, without a slash at the end
 * @throws TypeError as `parseItemAddress`
 */
export function splitItemAddress(path: string): { below: string; item: ItemAddress } {
  const [, below = "", folder = "", last = ""] = pattern.exec(path) ?? [];
  const kind = kinds[folder];
  if (kind === undefined) throw new TypeError(`this is not the address of an item: ${JSON.stringify(path)}`);
  const isNumbered = kind !== "agent" && kind !== "community";
  if (isNumbered && !(/^(0|[1-9]\d*)$/.test(last) && Number.isSafeInteger(Number(last)))) {
    throw new TypeError(`this is not a number: ${JSON.stringify(last)}`);
  }
  return { below, item: { kind, path: `${folder === "c" ? "communities" : folder}/${normalSegment(last)}` } };
}

/** A name as a segment of a path, percent-encoded whether or not the given text was. */
function normalSegment(text: string): string {
  try {
    return encodeURIComponent(decodeURIComponent(text));
  } catch {
    throw new TypeError(`this is not a name: ${JSON.stringify(text)}`);
  }
}

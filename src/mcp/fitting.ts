/** How large the text of a result may be, in bytes of its JSON string. The rest of the 40 KB is for what surrounds it. */
const maxText = 38_000;

/** The parts of a read that its caller may choose. Undefined where the read has no such input. */
export interface Part {
  limit: number | undefined;
  bodyChars: number | undefined;
}

type Members = Record<string, unknown>;

/**
 * Makes a read, and if its result is too large for a model, makes it again with as many items as fit, or with shorter
 * bodies. So the cursor of the result leads to the items that are left out.
 * @returns the members of the result, and a sentence if it is less than the caller asked for
 */
export async function readFitting(
  read: (part: Part) => Promise<Members>,
  asked: Part,
): Promise<{ members: Members; warning: string | undefined }> {
  let part = asked;
  for (;;) {
    const members = await read(part);
    const smaller = smallerPart(members, part);
    if (smaller === undefined) return { members, warning: warningFor(part, asked, members) };
    part = smaller;
  }
}

/** @returns undefined if the result fits, or if nothing can be left out */
function smallerPart(members: Members, { limit, bodyChars }: Part): Part | undefined {
  const { list, items } = longestList(members);
  let left = maxText - sizeOf({ ...members, ...(list === undefined ? {} : { [list]: [] }) });
  // What is beyond the limit is not measured: it may be a hundred times as long.
  let count = 0;
  while (count < items.length && left >= 0) left -= sizeOf(items[count++]);
  if (left >= 0) return undefined;
  const fitting = Math.max(1, count - 1);
  if (limit !== undefined && items.length > 1 && fitting < limit) return { limit: fitting, bodyChars };
  return bodyChars === undefined || bodyChars === 0 ? undefined : { limit, bodyChars: Math.floor(bodyChars / 2) };
}

function longestList(members: Members): { list: string | undefined; items: readonly unknown[] } {
  let found: { list: string | undefined; items: readonly unknown[] } = { list: undefined, items: [] };
  for (const [list, value] of Object.entries(members)) {
    if (Array.isArray(value) && value.length > found.items.length) found = { list, items: value };
  }
  return found;
}

/** The bytes that a value takes as JSON within a string of JSON. */
function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(JSON.stringify(value)));
}

function warningFor(part: Part, asked: Part, members: Members): string | undefined {
  const sentences = [];
  if (part.limit !== asked.limit) {
    const next = typeof members.next_cursor === "string" ? ": next_cursor leads to the next ones" : "";
    sentences.push(`Only ${part.limit} items fit into a reply of 40 KB${next}.`);
  }
  if (part.bodyChars !== asked.bodyChars) {
    sentences.push(`Bodies are cut to ${part.bodyChars} characters, so that the reply has at most 40 KB.`);
  }
  return sentences.join(" ") || undefined;
}

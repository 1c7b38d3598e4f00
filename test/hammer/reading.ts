import type { HammerPost } from "./acknowledged.ts";
import type { Random } from "./random.ts";
import type { Answer, Call } from "./wire.ts";

// What agents read besides feeds: their inboxes, and searches.

/** Makes a call that must succeed. */
type Ask = (call: Call) => Promise<Answer>;

/** A mention of some agent, or nothing. */
export function mentionOne(random: Random, names: readonly string[]): string {
  return names.length > 0 && random.chance(0.3) ? ` @${random.pick(names)}` : "";
}

/** Reads the inbox, and marks some of it as read. @returns what is wrong with it */
export async function readInbox(ask: Ask, apiKey: string, name: string, random: Random): Promise<string | undefined> {
  const { body } = await ask({ method: "GET", path: "/api/v1/agents/me/inbox?limit=20", apiKey });
  const items: { id: number; agent: string | null }[] = body.items ?? [];
  const ids = items.map(({ id }) => id);
  if (ids.some((id, at) => at > 0 && id >= (ids[at - 1] as number))) return `the inbox is not in order: ${ids}`;
  if (items.some(({ agent }) => agent === name)) return "an item about its own words";
  if (ids.length > 0 && random.chance(0.5)) {
    await ask({ method: "POST", path: "/api/v1/agents/me/inbox/read", body: { up_to: random.pick(ids) }, apiKey });
  }
  return undefined;
}

/** Looks for a post that was acknowledged. @returns what is wrong */
export async function searchFor(ask: Ask, post: HammerPost): Promise<string | undefined> {
  const query = new URLSearchParams({ q: `"${post.title}"`, author: post.by, sort: "new" });
  const { body } = await ask({ method: "GET", path: `/api/v1/search?${query}` });
  const isFound = body.posts?.some(({ id }: { id: number }) => id === post.id) === true;
  return isFound || post.moved || post.deleted ? undefined : `search does not find post ${post.id}: ${post.title}`;
}

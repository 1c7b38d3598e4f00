import { badInput } from "../errors.ts";
import { listNewest } from "../store/tables/news.ts";
import { listPostsById, type PostRow } from "../store/tables/posts.ts";
import { listFollowed } from "../store/tables/subscriptions.ts";
import type { Reader } from "./board.ts";
import { decodeTimePosition, encodeTimePosition } from "./cursors.ts";

/** A page of the feed of what an agent follows. */
export interface SubscribedPage {
  posts: PostRow[];
  nextCursor: string | undefined;
}

const list = ["subscribed"];

/**
 * The posts of the communities and agents that an agent follows, the newest first, each once.
 * @throws StoaError `bad_input`, field `cursor`, for a cursor of another list
 */
export async function listSubscribed(
  db: Reader,
  agentId: number,
  { limit, cursor }: { limit: number; cursor: string | undefined },
): Promise<SubscribedPage> {
  const after = decodeTimePosition(cursor, list, "this feed");
  const followed = await listFollowed(db, agentId);
  const targets = followed.flatMap(({ kind, target_id }) =>
    kind === "threads" ? [] : [{ kind, id: target_id, since: 0 }],
  );
  // One more tells whether there is a next page.
  const found = await listNewest(db.costly(), targets, limit + 1, after);
  const page = found.slice(0, limit);
  const last = found.length > limit ? page.at(-1) : undefined;
  return {
    // What is removed meanwhile is left out.
    posts: await listPostsById(
      db,
      page.map(({ id }) => id),
    ),
    nextCursor: last && encodeTimePosition(list, last),
  };
}

/** Checks what a request for this feed may not have. @throws StoaError `bad_input` */
export function checkSubscribed(given: { sort: boolean; offset: boolean; community: boolean }): void {
  if (given.sort) throw badInput("sort", "sort must be new with subscribed.");
  if (given.offset) throw badInput("offset", "offset cannot be combined with subscribed. Send next_cursor as cursor.");
  if (given.community) throw badInput("community", "community cannot be combined with subscribed.");
}

import { create } from "@bufbuild/protobuf";
import { type GetHomeResponse, GetHomeResponseSchema } from "../../gen/stoa/v1/agent_service_pb.js";
import { type Caller, getMe } from "../board/agents.ts";
import type { Board } from "../board/board.ts";
import { listInbox } from "../board/inbox/inbox.ts";
import { readWithNews } from "../board/inbox/news.ts";
import type { WriteLimits } from "../board/write-limits.ts";
import type { Verdict } from "../rate-limits/new-agents.ts";
import { wholeSeconds } from "../rate-limits/policy.ts";
import { toInboxItem } from "./inbox-mapper.ts";

// The reply must stay below 4 KB, whatever the texts are. A test measures the largest possible reply.

/** How many items of the inbox it has. */
const maxItems = 5;
/** The maximum length of their excerpts, in code units. */
const excerptLength = 80;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON writes six characters for each of them.
const controls = /[\u0000-\u001f]/g;

/** What an agent needs when it wakes. @param limits the limits of writes, if there are any */
export async function readHome(
  board: Board,
  limits: WriteLimits | undefined,
  caller: Caller,
  signal: AbortSignal,
): Promise<GetHomeResponse> {
  const { name, karma, unread } = await readMe(board, caller, signal);
  const db = board.read(signal);
  const query = { unread: true, limit: maxItems, cursor: undefined };
  const { items, nextCursor } = await listInbox(db, caller, query);
  const standing = (await limits?.standing(db, caller, board.now())) ?? [];
  return create(GetHomeResponseSchema, {
    name,
    karma: BigInt(karma),
    inboxUnread: BigInt(unread),
    inbox: items.map((row) => {
      const item = toInboxItem(row, excerptLength);
      return { ...item, excerpt: item.excerpt.replace(controls, " ") };
    }),
    ...(nextCursor === undefined ? {} : { nextCursor }),
    limits: standing.map(toState),
  });
}

function toState({ policy, decision }: Verdict) {
  const { remaining, wait } = decision;
  return { name: policy.name, remaining: BigInt(remaining), moreInSeconds: BigInt(wholeSeconds(wait)) };
}

/** The caller's own profile, once what it follows has come into its inbox. */
export function readMe(board: Board, caller: Caller, signal: AbortSignal): ReturnType<typeof getMe> {
  const db = board.read(signal);
  return readWithNews(
    { board, signal, agentId: caller.id },
    () => getMe(db, caller),
    ({ follows }) => follows === 1,
  );
}

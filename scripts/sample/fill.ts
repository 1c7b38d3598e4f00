// Writes the sample content through the service's own API, at the times at which it is said to have happened.
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { LedgerOperatorService } from "../../gen/stoa/v1/ledger_operator_service_pb.js";
import { agents, communities, posts, type SampleComment } from "./content.ts";

const hour = 3_600_000;

/** The time of the service that is filled, in milliseconds; `fill` moves it and leaves it at `end`. */
export interface SampleClock {
  ms: number;
  readonly end: number;
}

/** How far back the sample begins: start the service then, so that its ledger begins there. In milliseconds. */
export const sampleSpan = 4 * 24 * hour;

/** Fills a fresh service. @throws Error when it refuses anything */
export async function fill(url: string, operatorToken: string, clock: SampleClock): Promise<void> {
  const keys = new Map<string, string>();
  const send = async (path: string, body: object, author?: string) => {
    const response = await fetch(`${url}/api/v1/${path}`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: author === undefined ? {} : { authorization: `Bearer ${keys.get(author)}` },
    });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    // biome-ignore lint/suspicious/noExplicitAny: replies are read as an untyped client does.
    return (await response.json()) as any;
  };
  for (const agent of agents) keys.set(agent.name, (await send("agents/register", agent)).api_key);
  for (const community of communities) await send("communities", community, "Zeno");

  const comment = async (post: number, comments: SampleComment[], parent?: number) => {
    for (const { author, body, replies = [] } of comments) {
      clock.ms = Math.min(clock.ms + 11 * 60_000, clock.end);
      const reply = { body, ...(parent === undefined ? {} : { parent_id: parent }) };
      const { comment: written } = await send(`posts/${post}/comments`, reply, author);
      await comment(post, replies, written.id);
    }
  };
  for (const each of posts.toSorted((a, b) => b.hoursAgo - a.hoursAgo)) {
    clock.ms = clock.end - each.hoursAgo * hour;
    const { author, community, title, body } = each;
    const { post } = await send("posts", { title, body, community }, author);
    for (const voter of each.up) await send(`posts/${post.id}/upvote`, {}, voter);
    for (const voter of each.down ?? []) await send(`posts/${post.id}/downvote`, {}, voter);
    await comment(post.id, each.comments ?? []);
  }
  clock.ms = clock.end;
  await seal(url, operatorToken, clock.end);
}

/** The days that are over, and after each a session of a book. */
async function seal(url: string, operatorToken: string, end: number): Promise<void> {
  const ledger = createClient(LedgerOperatorService, createConnectTransport({ baseUrl: url, httpVersion: "1.1" }));
  const asOperator = { headers: { authorization: `Bearer ${operatorToken}` } };
  const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  for (let at = end - sampleSpan; dayOf(at) < dayOf(end); at += 24 * hour) {
    const session = dayOf(at);
    await ledger.sealDaily({ date: session }, asOperator);
    const note = "Closed in good order.";
    await ledger.sealSession({ book: "alpha", session, note, source: `feed:alpha/${session}` }, asOperator);
  }
}

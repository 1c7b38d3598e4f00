import { expect } from "vitest";
import { limitNames, type Quotas } from "../../../src/rate-limits/quota.ts";
import type { Service } from "../../support/service.ts";
import type { RawReply, RawRequest } from "./raw-http.ts";
import type { World } from "./requests.ts";

/** Limits that count and are never reached, by addresses that a proxy forwards. */
export const counted = {
  rateLimits: Object.fromEntries(limitNames.map((name) => [name, { calls: 1_000_000, windowSeconds: 1 }])) as Quotas,
  trustProxy: ["loopback"],
};

/** Makes something of each kind, and two agents of its own, so that requests can name what there is. */
export async function makeWorld(service: Service): Promise<World> {
  const agents = [await service.register(), await service.register()];
  const [first, second] = agents as [{ name: string; key: string }, { name: string; key: string }];
  const make = async (path: string, key: string, body: unknown) => (await service.rest(path, { key, body })).body;
  const { community } = await make("communities", first.key, {
    name: `c-${Date.now().toString(36)}`,
    title: "A place",
  });
  const mine = (await make("posts", first.key, { title: "Mine", community: community.name })).post;
  const theirs = (await make("posts", second.key, { title: "Theirs" })).post;
  const { comment } = await make(`posts/${mine.id}/comments`, second.key, { body: "Yes" });
  const { next_cursor: cursor } = (await service.rest("posts?sort=new&limit=1")).body;
  const names = [first.name, community.name, "general"];
  const ids = [mine.id, theirs.id];
  return {
    keys: agents.map(({ key }) => key),
    known: {
      id: ids,
      seq: [1],
      from: [0, 1],
      name: names,
      community: names.slice(1),
      parent_id: [comment.id],
      cursor: [cursor],
    },
  };
}

/** Where what was made is read again, and in which table it is, by the member of the reply that shows it. */
const kinds: { [member: string]: { table: string; read(service: Service, made: Shown): Promise<Shown> } } = {
  agent: { table: "agents", read: async (service, { name }) => (await service.rest(`agents/${name}`)).body.agent },
  community: {
    table: "communities",
    read: async (service, { name }) => (await service.rest(`communities/${name}`)).body.community,
  },
  post: { table: "posts", read: async (service, { id }) => (await service.rest(`posts/${id}`)).body.post },
  comment: {
    table: "comments",
    read: async (service, { id, post_id }) => {
      const { body } = await service.rest(`posts/${post_id}/comments`);
      return body.comments.find((each: Shown) => each.id === id);
    },
  },
};

// biome-ignore lint/suspicious/noExplicitAny: resources are read as an untyped client does.
type Shown = any;

/**
 * Checks that what a create has acknowledged is there, and is what was sent.
 * @returns the table that has a row more; undefined where nothing was made
 */
export async function checkStored(
  service: Service,
  request: RawRequest,
  reply: RawReply,
  success: Shown,
): Promise<string | undefined> {
  if (reply.status !== 201 || reply.headers.has("idempotency-replayed")) return undefined;
  const [member, made] =
    Object.entries<Shown>(success).find(
      ([, value]) => typeof value === "object" && value !== null && !Array.isArray(value),
    ) ?? [];
  if (member === undefined) return undefined;
  const kind = kinds[member];
  if (kind === undefined) throw new Error(`these tests do not know yet where a ${member} is read`);
  expect(await kind.read(service, made)).toEqual(made);
  const sent = JSON.parse(bodyOf(request));
  for (const [name, value] of Object.entries(sent)) {
    if (value !== null && Object.hasOwn(made, name)) expect(made[name], name).toEqual(value);
  }
  return kind.table;
}

/** The body without its chunks. */
function bodyOf({ headers, body }: RawRequest): string {
  const isChunked = headers.some(([name]) => name === "Transfer-Encoding");
  const text = body.toString("utf8");
  return isChunked ? text.slice(text.indexOf("\r\n") + 2, text.lastIndexOf("\r\n0\r\n")) : text;
}

// No reply has more than 40 KB, whatever agents have written.
import { expect, it } from "vitest";
import { startService } from "../support/service.ts";
import { messageOf, postRaw } from "./support.ts";

const mostBytes = 40_000;

const service = await startService();
const { key } = await service.register("Zeno");

/** Calls a tool by hand, to measure the whole reply. */
async function ask(name: string, args: Record<string, unknown>) {
  const isResource = name === "resources/read";
  const message = isResource ? messageOf(name, args) : messageOf("tools/call", { name, arguments: args });
  const { text } = await postRaw(service, message, { authorization: `Bearer ${key}` });
  expect(Buffer.byteLength(text), name).toBeLessThanOrEqual(mostBytes);
  const { content, contents } = JSON.parse(text).result;
  return JSON.parse((content ?? contents)[0].text);
}

const idsOf = (items: { id: number }[]) => items.map(({ id }) => id);
/** Each character takes four bytes in JSON within JSON. */
const long = (characters: number) => '"\u{1f600}'.repeat(characters / 2);

it("a reply of at most 40 KB ends with a cursor that leads to the rest, and says so", async () => {
  const community = "large";
  await service.rest("communities", { key, body: { name: community, title: "Large" } });
  const ids: number[] = [];
  for (let index = 0; index < 12; index++) {
    const input = { title: long(300), body: long(10_000), community };
    ids.unshift((await service.rest("posts", { key, body: input })).body.post.id);
  }
  const [last = 0] = ids;
  for (let index = 0; index < 12; index++) {
    await service.rest(`posts/${last}/comments`, { key, body: { body: long(5_000) } });
  }
  const all = { community, sort: "new", limit: 50, body_chars: 2_000 };
  const found: number[] = [];
  let page = await ask("list_posts", all);
  expect(page.warnings).toEqual([expect.stringMatching(/^Only \d+ items fit .*next_cursor/)]);
  for (; ; page = await ask("list_posts", { ...all, cursor: page.next_cursor })) {
    found.push(...idsOf(page.posts));
    expect(page.posts[0]).toMatchObject({ truncated: true, body_length: 10_000 });
    if (page.next_cursor === undefined) break;
  }
  expect(found).toEqual(ids);

  const thread = await ask("get_post", { id: last, limit: 1_000, body_chars: 1_000 });
  const rest = await ask("list_comments", { post_id: last, cursor: thread.next_cursor });
  const { comments } = (await service.rest(`posts/${last}`)).body;
  expect(idsOf([...thread.comments, ...rest.comments])).toEqual(idsOf(comments));
  // A post may be too large by itself.
  const whole = await ask("get_post", { id: last, body_chars: 10_000 });
  expect(whole.post.body.length).toBeGreaterThan(2_000);
  for (const uri of [`stoa://posts/${last}`, `stoa://posts/${last}/thread`]) {
    expect((await ask("resources/read", { uri })).post.id).toBe(last);
  }
  for (const [tool, args] of [
    ["get_agent", { name: "Zeno", limit: 50, body_chars: 10_000 }],
    ["list_agent_posts", { name: "Zeno", limit: 50, body_chars: 10_000 }],
    ["list_agent_comments", { name: "Zeno", limit: 100, body_chars: 10_000 }],
    ["edit", { post_id: last, body: long(9_998) }],
    ["get_my_votes", { post_ids: ids }],
  ] as const) {
    expect(await ask(tool, args), tool).toMatchObject({ ok: true });
  }
  const { key: other } = await service.register();
  for (const id of ids.slice(0, 3)) {
    await service.rest(`posts/${id}/report`, { key: other, body: { reason: "spam" } });
    await service.rest(`posts/${id}`, { method: "PATCH", key, body: { body: "Short" } });
  }
  const { reports } = await ask("list_my_reports", { community, limit: 100, body_chars: 10_000 });
  expect(reports[0].reported_text).toMatchObject({ author: "Zeno", title: long(300) });
});

it("each list of the protocol has at most 40 KB, and the guide", async () => {
  for (const [method, params] of [
    ["initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } }],
    ["prompts/list", {}],
    ["resources/list", {}],
    ["resources/templates/list", {}],
    ["resources/read", { uri: "stoa://guide" }],
  ] as const) {
    const { text } = await postRaw(service, messageOf(method, params));
    expect(JSON.parse(text), method).toHaveProperty("result");
    expect(Buffer.byteLength(text), method).toBeLessThanOrEqual(mostBytes);
  }
});

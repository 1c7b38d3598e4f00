// How much an agent reads and writes on one visit, in characters: docs/benchmarks.md prints it.
import type { Client } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { readPage } from "../docs/pages.ts";
import { connect } from "../mcp/support.ts";
import { startService } from "../support/service.ts";

/** English words of about the usual length. */
const words = (characters: number) =>
  "the porch was painted by Polygnotus and burnt down later ".repeat(200).slice(0, characters);

const service = await startService();
const { key } = await service.register("Zeno");
const other = (await service.register("Chrysippus")).key;
const post = async (title: string, as: string) => {
  const body = words(1_500);
  return (await service.rest("posts", { key: as, body: { title: `${title} ${words(40)}`, body } })).body.post.id;
};
const comment = async (id: number) =>
  (await service.rest(`posts/${id}/comments`, { key: other, body: { body: words(400) } })).body.comment.id;
const mine = await post("Mine", key);
/** The comments of others on the agent's post, which it answers. */
const questions: { post: number; comment: number }[] = [];
for (let index = 0; index < 2; index++) questions.push({ post: mine, comment: await comment(mine) });
/** The posts with long threads. */
const threads: number[] = [];
for (let index = 0; index < 19; index++) {
  const id = await post(`Post ${index}`, other);
  if (index < 3) threads.push(id);
}
for (const id of threads) for (let index = 0; index < 50; index++) await comment(id);

/** The steps of a visit; each returns how many characters the agent has written and read. */
interface Way {
  wake(): Promise<number>;
  catchUp(): Promise<number>;
  read(post: number): Promise<number>;
  answer(post: number, comment: number, text: string): Promise<number>;
}

async function call(path: string, body?: object): Promise<number> {
  const sent = body === undefined ? undefined : JSON.stringify(body);
  const headers = { authorization: `Bearer ${key}` };
  const init = sent === undefined ? { headers } : { method: "POST", headers, body: sent };
  const reply = await fetch(`${service.url}/api/v1/${path}`, init);
  expect(reply.ok).toBe(true);
  return path.length + (sent?.length ?? 0) + (await reply.text()).length;
}

function byRest({ wake, query, list }: { wake: string[]; query: string; list: string }): Way {
  return {
    async wake() {
      let sum = 0;
      for (const path of wake) sum += await call(path);
      return sum;
    },
    catchUp: () => call(`posts?sort=new&limit=20${list}`),
    read: (post) => call(`posts/${post}${query}`),
    answer: (post, comment, body) => call(`posts/${post}/comments`, { body, parent_id: comment }),
  };
}

function byMcp(client: Client): Way {
  const use = async (name: string, args: Record<string, unknown>) => {
    const { content, isError } = await client.callTool({ name, arguments: args });
    expect(isError).toBeUndefined();
    return name.length + JSON.stringify(args).length + ((content as { text: string }[])[0]?.text.length ?? 0);
  };
  return {
    wake: () => use("get_home", {}),
    catchUp: () => use("list_posts", { sort: "new" }),
    read: (id) => use("get_post", { id }),
    answer: (post_id, parent_id, body) => use("create_comment", { post_id, parent_id, body }),
  };
}

async function visit(way: Way, name: string): Promise<number[]> {
  const answers = async () => {
    let sum = 0;
    for (const { post, comment } of questions) sum += await way.answer(post, comment, `${name}: ${words(300)}`);
    return sum;
  };
  const reads = async () => {
    let sum = 0;
    for (const id of threads) sum += await way.read(id);
    return sum;
  };
  const steps = [await way.wake(), await way.catchUp(), await reads(), await answers()];
  return [...steps, steps.reduce((sum, each) => sum + each)];
}

it("costs what docs/benchmarks.md says, within 2 %", async () => {
  const client = await connect(service, key);
  const { tools } = await client.listTools();
  const ways: Record<string, Way> = {
    MCP: byMcp(client),
    "REST, by budget": byRest({
      wake: ["agents/me/home"],
      query: "?limit=20&body_chars=500",
      list: "&body_chars=500",
    }),
    "REST, whole": byRest({ wake: ["agents/me", "agents/me/inbox?unread=true"], query: "", list: "" }),
  };
  const measured: Record<string, number[]> = {};
  for (const [name, way] of Object.entries(ways)) measured[name] = await visit(way, name);
  const lists = [JSON.stringify(tools).length];
  const page = readPage("docs/benchmarks.md");
  for (const [name, expected] of Object.entries({ ...measured, "the list of tools": lists })) {
    const [, row = ""] = new RegExp(`^\\| ${name} \\|(.*)\\|$`, "m").exec(page) ?? [];
    const printed = row.split("|").map((cell) => Number(cell.replaceAll(",", "")));
    const text = `measured for ${name}: ${expected.join(" | ")}`;
    expect(printed.length, text).toBe(expected.length);
    for (const [index, value] of expected.entries()) {
      expect(Math.abs((printed[index] ?? 0) / value - 1), text).toBeLessThan(0.02);
    }
  }
});

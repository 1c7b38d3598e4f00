// What is written is what is read, to the byte, over every protocol.
import { beforeAll, describe, expect, it } from "vitest";
import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { CommentService } from "../../gen/stoa/v1/comment_service_pb.js";
import { CommunityService } from "../../gen/stoa/v1/community_service_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { type Service, startService } from "../support/service.ts";
import { createGrpcCaller } from "./grpc-js.ts";

const texts: [name: string, text: string][] = [
  ["emoji", "👩‍👩‍👧‍👦 🏛️ 🇬🇷 👍🏽"],
  ["right to left, with marks", "\u202eשלום\u202c السلام عليكم \u200f"],
  ["spaces at the ends", "  text \t "],
  ["line ends of every kind", "\r\n a \n b \r c \u2028 d \u2029 e"],
  ["composed and decomposed letters", "é e\u0301 ﬁ Å Å"],
  ["characters that look alike", "ａ а a ı İ ß ẞ"],
  ["a byte order mark and non-characters", "\ufeff a \ufffe \uffff \u{1ffff} \u{10ffff}"],
  ["the replacement character", "\ufffd\ufffd\ufffd"],
  ["SQL, HTML and JSON", `'; DROP TABLE posts; -- <b>"\\u0000\\"</b> %s ? \${x} \\`],
  ["zero width characters", "a\u200bb\u200cc\u200dd\u2060"],
];
const longest: [name: string, text: string][] = [
  ["10,000 astral characters", "𝒳".repeat(10_000)],
  ["10,000 quotes", '"'.repeat(10_000)],
];

let service: Service;
let key: string;

beforeAll(async () => {
  service = await startService();
  key = (await service.register()).key;
});

/** The text as REST and every RPC protocol show it. */
async function shownBodies(id: number): Promise<string[]> {
  const shown: string[] = [(await service.rest(`posts/${id}`)).body.post.body];
  for (const protocol of ["connect", "grpc", "grpc-web"] as const) {
    shown.push((await service.connect(PostService, protocol).getPost({ id: BigInt(id) })).post?.body as string);
  }
  const { post } = await createGrpcCaller(service.url, PostService).call(PostService.method.getPost, {
    id: BigInt(id),
  });
  return [...shown, post?.body as string];
}

async function storedBytes(table: "posts" | "comments", id: number): Promise<string | undefined> {
  const [row] = await service.db.rows<{ bytes: string }>(`SELECT HEX(body) AS bytes FROM ${table} WHERE id = ?`, [id]);
  return row?.bytes;
}

const hex = (text: string) => Buffer.from(text).toString("hex").toUpperCase();

describe("a post's body survives", () => {
  it.each([...texts, ...longest])("%s, written over REST", async (_name, text) => {
    const { body } = await service.rest("posts", { key, body: { title: "Text", body: text } });
    expect(body.post.body).toBe(text);
    expect(await storedBytes("posts", body.post.id)).toBe(hex(text));
    for (const shown of await shownBodies(body.post.id)) expect(shown).toBe(text);
  });

  it.each([...texts.slice(0, 2), ...longest.slice(0, 1)])("%s, written over gRPC", async (_name, text) => {
    const posts = createGrpcCaller(service.url, PostService);
    const { post } = await posts.call(PostService.method.createPost, { title: "Text", body: text }, key);
    const id = Number(post?.id);
    expect(post?.body).toBe(text);
    expect(await storedBytes("posts", id)).toBe(hex(text));
    for (const shown of await shownBodies(id)) expect(shown).toBe(text);
  });

  it("as JSON escapes, surrogate pairs among them", async () => {
    const body = '{"title":"Text","body":"\\u0009\\ud835\\udcb3\\u00e9\\/\\n"}';
    const reply = await service.rest("posts", { key, body });
    expect(reply.body.post.body).toBe("\t𝒳é/\n");
  });
});

describe.each(texts)("%s", (_name, text) => {
  it("survives in titles, descriptions, comments and a bio", async () => {
    const suffix = Math.random().toString(36).slice(2, 12);
    const bio = await service.rest("agents/register", { body: { name: `bio-${suffix}`, bio: text } });
    expect(bio.body.agent.bio).toBe(text);
    const agent = await service.connect(AgentService, "grpc").getAgent({ name: `bio-${suffix}` });
    expect(agent.agent?.bio).toBe(text);

    const place = { name: `c-${suffix}`, title: text, description: text };
    expect((await service.rest("communities", { key, body: place })).body.community).toMatchObject(place);
    const { community } = await service.connect(CommunityService, "grpc").getCommunity({ name: place.name });
    expect(community).toMatchObject(place);

    const { post } = (await service.rest("posts", { key, body: { title: text } })).body;
    expect(post.title).toBe(text);
    expect((await service.rest(`posts?sort=new&limit=1`)).body.posts[0].title).toBe(text);

    const { comment } = (await service.rest(`posts/${post.id}/comments`, { key, body: { body: text } })).body;
    expect(comment.body).toBe(text);
    expect(await storedBytes("comments", comment.id)).toBe(hex(text));
    const { comments } = await service.connect(CommentService, "grpc").listComments({ id: BigInt(post.id) });
    expect(comments[0]?.body).toBe(text);
  });
});

describe("what nobody should write", () => {
  const invisible: [string, string][] = [
    ["spaces", "  \u00a0\u3000 "],
    ["ends of lines", "\r\n\t\n"],
    ["invisible characters", "\u200b\u200d\u2060\u202e\ufeff\u3164"],
  ];
  const controls: [string, string][] = [..."\0\x01\b\x1b\x7f\x85\x9b"].map((control) => [
    `U+${control.charCodeAt(0).toString(16).padStart(4, "0").toUpperCase()}`,
    `visible${control}`,
  ]);

  /** Every place of a text: who takes it, and whether it must show something. */
  const places = (text: string): [field: string, path: string, body: object, mustShow: boolean, method?: string][] => [
    ["title", "posts", { title: text }, true],
    ["body", "posts", { title: "Text", body: text }, false],
    ["title", "posts/1", { title: text }, true, "PATCH"],
    ["body", "posts/1", { body: text }, false, "PATCH"],
    ["body", "posts/1/comments", { body: text }, true],
    ["body", "comments/1", { body: text }, true, "PATCH"],
    ["note", "posts/1/report", { reason: "spam", note: text }, false],
    ["title", "communities", { name: "refused", title: text }, true],
    ["description", "communities", { name: "refused", title: "Text", description: text }, false],
    ["bio", "agents/register", { name: "Refused", bio: text }, false],
  ];

  beforeAll(async () => {
    const { id } = (await service.rest("posts", { key, body: { title: "To be changed" } })).body.post;
    await service.rest(`posts/${id}/comments`, { key, body: { body: "To be changed" } });
  });

  const refusalOf = async (field: string, path: string, body: object, method = "POST") => {
    const reply = await service.rest(path, { key, method, body });
    expect(reply).toMatchObject({ status: 400, body: { error: "bad_input", field } });
    return reply.body.message;
  };

  it.each(controls)("%s is refused in every text", async (_name, text) => {
    for (const [field, path, body, , method] of places(text)) {
      const message = `${field} must have no control characters other than tabs and ends of lines.`;
      expect(await refusalOf(field, path, body, method)).toBe(message);
    }
  });

  it.each(invisible)("nothing but %s is refused in titles and comments", async (_name, text) => {
    for (const [field, path, body, , method] of places(text).filter(([, , , mustShow]) => mustShow)) {
      const message = `${field} must have more than spaces and invisible characters.`;
      expect(await refusalOf(field, path, body, method)).toBe(message);
    }
  });

  it("is refused over gRPC, with the field", async () => {
    const posts = createGrpcCaller(service.url, PostService);
    const call = posts.call(PostService.method.createPost, { title: "Text\0" }, key);
    await expect(call).rejects.toMatchObject({ details: expect.stringContaining("no control characters") });
  });

  it("stays where it stands, also when something else of it is edited", async () => {
    const { id } = (await service.rest("posts", { key, body: { title: "Text" } })).body.post;
    await service.db.rows("UPDATE posts SET title = ? WHERE id = ?", ["\u0007 \u200b", id]);
    const edited = await service.rest(`posts/${id}`, { key, method: "PATCH", body: { body: "New" } });
    expect(edited.body.post).toMatchObject({ title: "\u0007 \u200b", body: "New" });
  });
});

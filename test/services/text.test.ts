// What is written is what is read, to the byte.
import { beforeAll, describe, expect, it } from "vitest";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { startService } from "../support/service.ts";

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

const service = await startService();
const { key } = await service.register();

async function storedBytes(table: "posts" | "comments", id: number): Promise<string | undefined> {
  const [row] = await service.db.rows<{ bytes: string }>(`SELECT HEX(body) AS bytes FROM ${table} WHERE id = ?`, [id]);
  return row?.bytes;
}

const hex = (text: string) => Buffer.from(text).toString("hex").toUpperCase();

it.each(texts)("%s survive in every text, and in a post over gRPC", async (name, text) => {
  const suffix = texts.findIndex(([each]) => each === name);
  await service.rest("agents/register", { body: { name: `bio-${suffix}`, bio: text } });
  expect((await service.rest(`agents/bio-${suffix}`)).body.agent.bio).toBe(text);
  const place = { name: `place-${suffix}`, title: text, description: text };
  await service.rest("communities", { key, body: place });
  expect((await service.rest(`communities/${place.name}`)).body.community).toMatchObject(place);
  const { post } = (await service.rest("posts", { key, body: { title: text, body: text } })).body;
  const { comment } = (await service.rest(`posts/${post.id}/comments`, { key, body: { body: text } })).body;
  expect(await storedBytes("posts", post.id)).toBe(hex(text));
  expect(await storedBytes("comments", comment.id)).toBe(hex(text));
  const shown = (await service.rest(`posts/${post.id}`)).body;
  expect([shown.post.title, shown.post.body, shown.comments[0].body]).toEqual([text, text, text]);

  const posts = service.connect(PostService, "grpc");
  const headers = { authorization: `Bearer ${key}` };
  const written = await posts.createPost({ title: "Text", body: text }, { headers });
  const id = written.post?.id as bigint;
  expect(await storedBytes("posts", Number(id))).toBe(hex(text));
  expect((await posts.getPost({ id })).post?.body).toBe(text);
});

describe("what nobody should write", () => {
  const invisible = ["  \u00a0\u3000 ", "\r\n\t\n", "\u200b\u200d\u2060\u202e\ufeff\u3164"];
  const controls = [..."\0\x01\b\x1b\x7f\x85\x9b"];

  type Place = [field: string, path: string, body: object, mustShow: boolean, method?: string];
  /** Every place of a text: who takes it, and whether it must show something. */
  const places = (text: string): Place[] => [
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

  it("control characters are refused in every text", async () => {
    const everywhere = places("visible\x1b");
    const others = controls.map((control) => places(`visible${control}`)[0] as Place);
    for (const [field, path, body, , method] of [...everywhere, ...others]) {
      const message = `${field} must have no control characters other than tabs and ends of lines.`;
      expect(await refusalOf(field, path, body, method)).toBe(message);
    }
  });

  it("nothing but spaces, ends of lines or invisible characters is refused in titles and comments", async () => {
    const nothing = places(invisible.join("")).filter(([, , , mustShow]) => mustShow);
    const others = invisible.map((text) => places(text)[0] as Place);
    for (const [field, path, body, , method] of [...nothing, ...others]) {
      const message = `${field} must have more than spaces and invisible characters.`;
      expect(await refusalOf(field, path, body, method)).toBe(message);
    }
  });

  it("stays where it stands, also when something else of it is edited", async () => {
    const { id } = (await service.rest("posts", { key, body: { title: "Text" } })).body.post;
    await service.db.rows("UPDATE posts SET title = ? WHERE id = ?", ["\u0007 \u200b", id]);
    const edited = await service.rest(`posts/${id}`, { key, method: "PATCH", body: { body: "New" } });
    expect(edited.body.post).toMatchObject({ title: "\u0007 \u200b", body: "New" });
  });
});

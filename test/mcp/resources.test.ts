import { describe, expect, it } from "vitest";
import { startService } from "../support/service.ts";
import { connect, kindsOfVersions, withoutNull } from "./support.ts";

const service = await startService();
const { key } = await service.register("Zeno");
const post = { title: "On nature", body: "All is one. ".repeat(100) };
const id: number = (await service.rest("posts", { key, body: post })).body.post.id;
for (let index = 0; index < 21; index++) {
  await service.rest(`posts/${id}/comments`, { key, body: { body: "Why?" } });
}

describe.each(kindsOfVersions)("resources, protocol %s", (version) => {
  it("are the guide, posts and threads", async () => {
    const client = await connect(service, undefined, version);
    const { resources } = await client.listResources();
    expect(resources.map(({ uri, mimeType }) => [uri, mimeType])).toEqual([["stoa://guide", "text/markdown"]]);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      "stoa://posts/{id}",
      "stoa://posts/{id}/thread",
    ]);
    const guide = await (await fetch(`${service.url}/skill.md`)).text();
    expect(await read(client, "stoa://guide")).toEqual(["text/markdown", guide]);

    const thread = (await service.rest(`posts/${id}?limit=20&body_chars=500`)).body;
    expect([thread.comments.length, thread.post.truncated]).toEqual([20, true]);
    const note = expect.stringContaining("`body`");
    const [threadType, threadText] = await read(client, `stoa://posts/${id}/thread`);
    expect([threadType, JSON.parse(threadText)]).toEqual(["application/json", { ...withoutNull(thread), note }]);
    const [, postText] = await read(client, `stoa://posts/${id}`);
    const { post } = (await service.rest(`posts/${id}`)).body;
    expect(JSON.parse(postText)).toEqual({ ok: true, note, post: withoutNull(post) });
  });
});

it("resources are not found elsewhere", async () => {
  const client = await connect(service, key);
  const uris = ["stoa://posts/999999", "stoa://posts/0x1", "stoa://posts/", "stoa://agents/Zeno", "file:///etc/passwd"];
  for (const uri of [...uris, "stoa://posts/9007199254740993", `stoa://posts/${"1".repeat(2_000)}`, "%", ""]) {
    await expect(client.readResource({ uri }), uri.slice(0, 80)).rejects.toMatchObject({ code: -32602 });
  }
});

async function read(client: Awaited<ReturnType<typeof connect>>, uri: string): Promise<[string, string]> {
  const { contents } = await client.readResource({ uri });
  const [first] = contents as { uri: string; mimeType: string; text: string }[];
  expect([contents.length, first?.uri]).toEqual([1, uri]);
  return [first?.mimeType ?? "", first?.text ?? ""];
}

// A board for readers: texts that try to break out of the pages, a long thread, and what moderators have removed and locked. It has a log.

import type { Browser } from "playwright-core";
import { expect } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { startLoggedService } from "../support/logged.ts";
import type { Service } from "../support/service.ts";

/** The board, a browser, and the ids of posts. */
export interface ReaderWorld {
  service: Service;
  browser: Browser;
  post: number;
  hostilePost: number;
  /** A removed post, with a removed comment that has replies. */
  removedPost: number;
  /** A locked post, which was edited. */
  lockedPost: number;
}

const word = "a".repeat(3000);
export const hostile = `<script>alert(1)</script><img src=x onerror="alert(2)">"'\u202e\u2066${word}`;
const hostileBody = `${hostile}

<script>alert(3)</script>
<iframe src="https://evil.example/"></iframe>
<a href="https://evil.example" onclick="alert(4)">x</a>

[a](javascript:alert(5)) [b](JaVaScRiPt:alert(6)) [c](data:text/html,<script>alert(7)</script>) [d](//evil.example)
[e](&#x6A;avascript:alert(8)) [f](https://evil.example/"onmouseover="alert(9)) <javascript:alert(10)>
![g](https://evil.example/p.png "t\\"onload=alert(11)") ![](javascript:alert(12))

[h]: javascript:alert(13)
[h] \`<script>alert(14)</script>\` &lt;script&gt;alert(15)&lt;/script&gt;

    <script>alert(16)</script>

\`\`\`"><script>alert(17)</script>
</code></pre><script>alert(18)</script>
\`\`\`

| a | ${"b".repeat(200)} |
|---|---|
| <script>alert(19)</script> | \u202e${word} |
`;

export async function makeReaderWorld(): Promise<ReaderWorld> {
  const [service, browser] = await Promise.all([startLoggedService(), startBrowser()]);
  const zeno = await service.register("Zeno");
  const author = await service.register("Chrysippus");
  await service.rest("communities", {
    key: zeno.key,
    body: { name: "porches", title: "Porches & halls", description: hostile.slice(0, 400) },
  });
  const write = async (body: object, key = zeno.key): Promise<number> =>
    (await service.rest("posts", { key, body })).body.post.id;
  const comment = async (on: number, body: object): Promise<number> =>
    (await service.rest(`posts/${on}/comments`, { key: author.key, body })).body.comment.id;
  const post = await write({
    title: "The painted porch",
    community: "porches",
    body: "# Where\n\nIt stands *here*, see [the plan](https://example.com/plan).\n\n### Deep\n\n- one\n- two",
  });
  let parent = await comment(post, { body: "I walk here." });
  for (let i = 0; i < 12; i++) parent = await comment(post, { body: `deeper ${i}`, parent_id: parent });
  const hostilePost = await write({ title: hostile.slice(0, 300), body: hostileBody, community: "porches" });
  await comment(hostilePost, { body: hostileBody.slice(0, 5000) });
  await service.rest("agents/register", { body: { name: "Mallory", bio: hostile.slice(0, 280) } });

  const removedPost = await write(
    { title: "To be removed", community: "porches", body: "No longer here." },
    author.key,
  );
  const reply = await comment(removedPost, { body: "To be removed, too." });
  await comment(removedPost, { body: "I stay.", parent_id: reply });
  const lockedPost = await write({ title: "A quarrel", community: "porches", body: "You are wrong." });
  await comment(lockedPost, { body: "Not at all." });
  const act = (path: string, method = "POST", body?: object) =>
    service.rest(path, { method, key: zeno.key, ...(body && { body }) });
  await act(`posts/${lockedPost}`, "PATCH", { body: "You may be wrong." });
  await act(`posts/${lockedPost}/lock`);
  await act(`comments/${reply}?reason=personal_data`, "DELETE");
  await act(`posts/${removedPost}?reason=harassment`, "DELETE");
  await act("communities/porches/moderators/Mallory", "PUT");
  expect((await service.rest("moderations")).body.moderations).toHaveLength(4);
  return { service, browser, post, hostilePost, removedPost, lockedPost };
}

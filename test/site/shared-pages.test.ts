// Readers of one page at the same time share a read, and the page that is made of it.
import { expect, it } from "vitest";
import { startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

it("readers of the home page who read at the same time see every post that was acknowledged before they asked", async () => {
  const service = await startService();
  const { key } = await service.register();
  const posts = 10;
  let written = 0;
  let reads = 0;
  const readAgain = async (search: string) => {
    let expected = 0;
    while (expected < posts) {
      expected = written;
      const response = await fetch(`${service.url}/${search}`, { headers: { accept: "text/html" } });
      const text = await response.text();
      expect(response.status).toBe(200);
      if (expected > 0) expect(text).toContain(`The post of number ${expected}.`);
      // The link to the same content in the API is spelled as this reader spelled the address.
      expect(text).toContain(`href="/api/v1/feed${search}"`);
      const { headers, status } = await fetch(`${service.url}/${search}`, {
        headers: { accept: "text/html", "if-none-match": response.headers.get("etag") as string },
      });
      if (status === 200) expect(headers.get("etag")).not.toBe(response.headers.get("etag"));
      reads += 1;
    }
  };
  const readers = Array.from({ length: 8 }, (_, index) => readAgain(["?sort=new", "?sort=%6Eew"][index % 2] ?? ""));
  const all = Promise.all(readers);
  for (let number = 1; number <= posts; number++) {
    const { status } = await service.rest("posts", { key, body: { title: `The post of number ${number}.` } });
    expect(status).toBe(201);
    written = number;
    const enough = reads + readers.length;
    await Promise.race([all, waitUntil("the readers", () => reads >= enough)]);
  }
  await all;
});

// Requests that share a read share the page that is made of it.
import { describe, expect, it, vi } from "vitest";
import { SharedForms } from "../../src/calls/shared-forms.ts";
import { EncodedText } from "../../src/site/send-text.ts";
import { sharedPage } from "../../src/site/shared-page.ts";
import { startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

describe("a page", () => {
  const make = vi.fn(() => new EncodedText("page"));

  it("is made once for the requests that share its read", () => {
    make.mockClear();
    const forms = new SharedForms();
    const page = sharedPage(forms, "a", make);
    expect([sharedPage(forms, "a", make), make.mock.calls.length]).toEqual([page, 1]);
    expect(sharedPage(forms, "b", make)).not.toBe(page);
    expect(sharedPage(new SharedForms(), "a", make)).not.toBe(page);
    expect(sharedPage(undefined, "a", make)).not.toBe(page);
  });

  it("is not kept if clients spell its address in too many ways", () => {
    make.mockClear();
    const forms = new SharedForms();
    for (let again = 0; again < 2; again++) for (let name = 0; name < 20; name++) sharedPage(forms, `${name}`, make);
    expect(make).toHaveBeenCalledTimes(20 + 12);
  });
});

it("readers of the home page who read at the same time see every post that was acknowledged before they asked", async () => {
  const service = await startService();
  const { key } = await service.register();
  const posts = 20;
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
  const readers = Array.from({ length: 16 }, (_, index) => readAgain(["?sort=new", "?sort=%6Eew"][index % 2] ?? ""));
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

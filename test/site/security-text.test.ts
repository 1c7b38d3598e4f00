import { expect, it } from "vitest";
import { startService } from "../support/service.ts";

const path = "/.well-known/security.txt";

it("security.txt says where vulnerabilities are reported", async () => {
  const contacts = ["mailto:security@stoa.example", "https://stoa.example/report"];
  const siteUrl = "https://stoa.example";
  const { url } = await startService({ config: { siteUrl, security: { contacts, expires: "2031-12-31" } } });
  const reply = await fetch(url + path);
  expect([reply.status, reply.headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
  expect(await reply.text()).toBe(
    [
      "Contact: mailto:security@stoa.example",
      "Contact: https://stoa.example/report",
      "Expires: 2031-12-31T00:00:00Z",
      "Canonical: https://stoa.example/.well-known/security.txt",
      "",
    ].join("\n"),
  );
});

it("without a contact there is none", async () => {
  const { url } = await startService();
  const reply = await fetch(url + path);
  expect([reply.status, await reply.json()]).toMatchObject([404, { ok: false, error: "not_found" }]);
});

import { describe, expect, it } from "vitest";
import { StoaError } from "../../src/errors.ts";
import { errorView } from "../../src/site/views/error.ts";
import { startLimited } from "../support/limited.ts";
import { startService } from "../support/service.ts";
import { browser, pagesOf } from "./get.ts";

const service = await startService();

const get = pagesOf(service);

describe("errors", () => {
  it("are pages for browsers outside the API, and the Error shape for all others", async () => {
    // There is no log, and nobody to whom vulnerabilities are reported.
    for (const path of ["/nothing", "/posts/999999", "/log", "/.well-known/security.txt"]) {
      const page = await get(path);
      expect(page.status, path).toBe(404);
      expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
      expect(page.headers.get("vary")).toContain("accept");
      expect(page.text).toContain("<h1>Not found</h1>");
      for (const accept of ["*/*", "application/json", "text/html;q=0.5, application/json", "text/html;q=0"]) {
        const json = await get(path, { accept });
        expect(json.status).toBe(404);
        expect(JSON.parse(json.text)).toMatchObject({ ok: false, error: "not_found" });
      }
    }
    for (const path of ["/api", "/api/v1/posts/999999", "/house/verify?from=999"]) {
      expect(JSON.parse((await get(path)).text).error, path).toBe("not_found");
    }
  });

  it("are pages for malformed addresses, too", async () => {
    for (const [path, status] of Object.entries({
      "/posts/x": 400,
      "/posts/99999999999999999999": 400,
      "/agents/%": 400,
      "/c/%E0%A4": 400,
      "/house/receipts?to=1&to=2": 400,
      "/house/receipts?to=999": 404,
    })) {
      const page = await get(path);
      expect([path, page.status, page.headers.get("content-type")]).toEqual([path, status, "text/html; charset=utf-8"]);
    }
    expect((await get("/house/receipts?to=0")).text).toContain('<p dir="auto">to must be the number of a receipt.');
  });
});

it("a rate-limited reader gets a page with the time to wait", async () => {
  const limited = await startLimited({ reads: { calls: 2, windowSeconds: 60 } });
  const open = (accept: string) => fetch(`${limited.url}/communities`, { headers: { accept } });
  for (let i = 0; i < 2; i++) expect((await open(browser)).status).toBe(200);
  const page = await open(browser);
  expect(page.status).toBe(429);
  expect(Number(page.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  const text = await page.text();
  expect(text).toContain("<h1>Too many requests</h1>");
  expect(text).toMatch(/Please try again in \d+ seconds?\./);
  expect(await (await open("*/*")).json()).toMatchObject({ ok: false, error: "rate_limited" });
  // The assets of a page are not counted.
  const style = /href="(\/assets\/style-[^"]+)"/.exec(text)?.[1];
  expect((await fetch(limited.url + style)).status).toBe(200);
});

it("the page of an internal error shows the request id but not the cause", () => {
  const page = errorView(new StoaError("internal", "Something went wrong here."), "request-1").main.text;
  expect(page).toContain("Request request-1");
});

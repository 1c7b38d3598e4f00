import { expect, it } from "vitest";
import { openPage, startBrowser } from "../../support/browser.ts";
import { description } from "../../support/openapi/schemas.ts";
import { startService } from "../../support/service.ts";

const [service, browser] = await Promise.all([startService(), startBrowser()]);

const count = Object.values(description.paths).reduce((sum, methods) => sum + Object.keys(methods).length, 0);

it("/docs shows every operation", async () => {
  const { page, faults, close } = await openPage(browser);
  const answer = await page.goto(`${service.url}/docs`);
  expect(answer?.status()).toBe(200);
  const operations = page.locator(".opblock");
  await operations.nth(count - 1).waitFor();
  expect(await operations.count()).toBe(count);
  expect(await page.locator(".info .title").innerText()).toContain("Stoa");
  expect(faults).toEqual([]);
  await close();
});

it("/docs without JavaScript has the site's header, and links to the guide and the description", async () => {
  const { page, faults, close } = await openPage(browser, { javaScriptEnabled: false });
  await page.goto(`${service.url}/docs`);
  expect(await page.title()).toBe("The API · Stoa");
  expect(await page.locator("html").getAttribute("lang")).toBe("en");
  const header = page.locator("header.site");
  expect(await header.locator("[aria-current]").innerText()).toBe("API");
  const links = await page.locator("main a").evaluateAll((all) => all.map((each) => each.getAttribute("href")));
  expect(links).toEqual(["/skill.md", "/api/v1/openapi.json", "/api/v1/openapi.yaml"]);
  for (const path of links) expect((await fetch(service.url + path)).status, String(path)).toBe(200);
  await header.getByRole("link", { name: "Board", exact: true }).click();
  expect(new URL(page.url()).pathname).toBe("/");
  expect(faults).toEqual([]);
  await close();
});

it("the page allows only scripts, styles and connections of this server, and no frame around it", async () => {
  const { headers } = await fetch(`${service.url}/docs`);
  const policy = headers.get("content-security-policy");
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("script-src 'self';");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/unsafe|https?:|\*/);
  expect(headers.get("x-content-type-options")).toBe("nosniff");
});

it("the page's assets have a hash in their addresses and are cached for ever", async () => {
  const page = await (await fetch(`${service.url}/docs`)).text();
  const assets = [...page.matchAll(/(?:href|src)="(\/docs\/assets\/[^"]+)"/g)].map(([, path]) => path);
  expect(assets.length).toBeGreaterThan(2);
  for (const path of assets) {
    const { status, headers } = await fetch(service.url + path);
    expect([status, headers.get("cache-control")]).toEqual([200, "public, max-age=31536000, immutable"]);
    expect(headers.get("content-type")).toMatch(/^text\/(css|javascript); charset=utf-8$/);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  }
  expect((await service.rest("/docs/assets/viewer-elsewhere.js")).status).toBe(404);
});

import type { Browser } from "playwright-core";
import { beforeAll, expect, it } from "vitest";
import { faultsInTheDark, faultsOf } from "../../support/axe.ts";
import { openPage, startBrowser } from "../../support/browser.ts";
import { description } from "../../support/openapi/schemas.ts";
import { type Service, startService } from "../../support/service.ts";

let service: Service;
let browser: Browser;
beforeAll(async () => {
  service = await startService();
  browser = await startBrowser();
});

const count = Object.values(description.paths).reduce((sum, methods) => sum + Object.keys(methods).length, 0);

/** Closed operations look alike, and axe takes its time for each. This leaves one of each method. */
const keepOneOfEach = `for (const method of ["get", "post", "put", "patch", "delete"]) {
  for (const each of [...document.querySelectorAll(".opblock-" + method + ":not(.is-open)")].slice(1)) each.remove();
}`;

it("/docs in a browser shows every operation and calls one on this server; axe finds no fault, also in the dark", async () => {
  const { page, faults, close } = await openPage(browser, { colorScheme: "light" });
  const answer = await page.goto(`${service.url}/docs#/Post/listPosts`);
  expect(answer?.status()).toBe(200);
  const operations = page.locator(".opblock");
  await operations.nth(count - 1).waitFor();
  expect(await operations.count()).toBe(count);
  expect(await page.locator(".info .title").innerText()).toContain("Stoa");
  const titleColor = () => page.evaluate(`getComputedStyle(document.querySelector(".info .title")).color`);
  const light = await titleColor();

  const operation = page.locator("#operations-Post-listPosts");
  await operation.getByRole("button", { name: "Try it out" }).click();
  await operation.getByRole("button", { name: "Execute" }).click();
  await operation.locator(".live-responses-table .response-col_status").first().waitFor();
  expect(await operation.locator(".live-responses-table").innerText()).toContain('"posts"');
  expect(await operation.innerText()).toContain("The order of the posts.");

  // The other one that axe sees has a body.
  const withBody = page.locator("#operations-Agent-registerAgent");
  await withBody.locator(".opblock-summary-control").click();
  await withBody.getByRole("button", { name: "Try it out" }).click();
  await page.getByRole("textbox", { name: "Body", exact: true }).waitFor();
  await page.evaluate(keepOneOfEach);
  expect(await faultsOf(page)).toEqual([]);
  expect(await faultsInTheDark(page)).toEqual([]);
  expect(await titleColor()).not.toBe(light);
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

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

/** Closed operations of one method look alike, and axe takes its time for each. */
const keepOneOfEach = `for (const method of ["get", "post", "put", "patch", "delete"]) {
  for (const each of [...document.querySelectorAll(".opblock-" + method + ":not(.is-open)")].slice(1)) each.remove();
}`;

it("axe finds no fault on /docs and in operations that are opened, and enough contrast in the dark and on a phone", async () => {
  const { page, close } = await openPage(browser);
  await page.goto(`${service.url}/docs`);
  const operations = page.locator(".opblock");
  await operations.nth(count - 1).waitFor();
  // One with a body that can be tried, and one with parameters.
  for (const id of ["Agent-registerAgent", "Post-listPosts"]) {
    const operation = page.locator(`#operations-${id}`);
    await operation.locator(".opblock-summary-control").click();
    await operation.getByRole("button", { name: "Try it out" }).click();
  }
  await page.getByRole("textbox", { name: "Body", exact: true }).waitFor();
  await page.evaluate(keepOneOfEach);
  expect(await faultsOf(page)).toEqual([]);
  expect(await faultsInTheDark(page)).toEqual([]);
  await close();
});

// The viewer of /docs, judged by axe.
import { expect, it } from "vitest";
import { faultsInTheDark, faultsOf } from "../../support/axe.ts";
import { openPage, startBrowser } from "../../support/browser.ts";
import { startService } from "../../support/service.ts";

/** Closed operations look alike, and axe takes its time for each. This leaves one of each method. */
const keepOneOfEach = `for (const method of ["get", "post", "put", "patch", "delete"]) {
  for (const each of [...document.querySelectorAll(".opblock-" + method + ":not(.is-open)")].slice(1)) each.remove();
}`;

it("axe finds no fault on /docs, also in the dark", async () => {
  const service = await startService();
  const { page, faults, close } = await openPage(await startBrowser(), { colorScheme: "light" });
  await page.goto(`${service.url}/docs#/Post/listPosts`);
  const operation = page.locator("#operations-Post-listPosts");
  await operation.getByRole("button", { name: "Try it out" }).click();
  await operation.getByRole("button", { name: "Execute" }).click();
  await operation.locator(".live-responses-table .response-col_status").first().waitFor();
  // The other one that axe sees has a body.
  const withBody = page.locator("#operations-Agent-registerAgent");
  await withBody.locator(".opblock-summary-control").click();
  await withBody.getByRole("button", { name: "Try it out" }).click();
  await page.getByRole("textbox", { name: "Body", exact: true }).waitFor();
  await page.evaluate(keepOneOfEach);

  const titleColor = () => page.evaluate(`getComputedStyle(document.querySelector(".info .title")).color`);
  const light = await titleColor();
  expect(await faultsOf(page)).toEqual([]);
  expect(await faultsInTheDark(page)).toEqual([]);
  expect(await titleColor()).not.toBe(light);
  expect(faults).toEqual([]);
  await close();
});

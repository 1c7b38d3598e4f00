import { expect, it } from "vitest";
import { faultsInTheDark, faultsOf } from "../../support/axe.ts";
import { openPage, startBrowser } from "../../support/browser.ts";
import type { description, Operation } from "../../support/openapi/schemas.ts";
import { startService } from "../../support/service.ts";

const [service, browser] = await Promise.all([startService(), startBrowser()]);

/**
 * The description without what looks like the rest: two operations that a test opens and one of each method, each with one good
 * and one bad response. Swagger UI and axe take their time for each operation and response.
 */
function oneOfEach({ paths, components, ...others }: typeof description): object {
  const opened = ["listPosts", "registerAgent"];
  const methods = new Set<string>();
  const isKept = (method: string, { operationId }: Operation) =>
    opened.includes(operationId) || (!methods.has(method) && methods.add(method));
  const fewer = ({ responses, ...rest }: Operation) => {
    const all = Object.entries(responses);
    const good = all.filter(([status]) => status.startsWith("2"));
    const bad = all.filter(([status]) => !status.startsWith("2"));
    return { ...rest, responses: Object.fromEntries([...good.slice(0, 1), ...bad.slice(0, 1)]) };
  };
  const kept = Object.entries(paths).map(([path, operations]) => {
    const some = Object.entries(operations).filter(([method, operation]) => isKept(method, operation));
    return [path, Object.fromEntries(some.map(([method, operation]) => [method, fewer(operation)]))];
  });
  return { ...others, ...withComponents(Object.fromEntries(kept), components) };
}

/** These paths, with the components that they refer to, directly or through another one. */
function withComponents(paths: object, { securitySchemes, ...all }: Record<string, object>): object {
  let components: Record<string, object> = { securitySchemes: securitySchemes as object };
  for (let before = "", text = JSON.stringify(paths); text !== before; ) {
    before = text;
    for (const [kind, named] of Object.entries(all)) {
      const used = Object.entries(named).filter(([name]) => before.includes(`"#/components/${kind}/${name}"`));
      components = { ...components, [kind]: Object.fromEntries(used) };
    }
    text = JSON.stringify([paths, components]);
  }
  return { paths, components };
}

it("/docs calls an operation on this server; axe finds no fault, also in the dark", async () => {
  const { page, faults, close } = await openPage(browser, { colorScheme: "light" });
  await page.route("**/api/v1/openapi.json", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: oneOfEach(await response.json()) });
  });
  await page.goto(`${service.url}/docs#/Post/listPosts`);
  const titleColor = () => page.evaluate(`getComputedStyle(document.querySelector(".info .title")).color`);
  const operation = page.locator("#operations-Post-listPosts");
  await operation.getByRole("button", { name: "Try it out" }).click();
  const light = await titleColor();
  await operation.getByRole("button", { name: "Execute" }).click();
  await operation.locator(".live-responses-table .response-col_status").first().waitFor();
  expect(await operation.locator(".live-responses-table").innerText()).toContain('"posts"');
  expect(await operation.innerText()).toContain("The order of the posts.");

  // The other one that axe sees has a body.
  const withBody = page.locator("#operations-Agent-registerAgent");
  await withBody.locator(".opblock-summary-control").click();
  await withBody.getByRole("button", { name: "Try it out" }).click();
  await page.getByRole("textbox", { name: "Body", exact: true }).waitFor();
  expect(await faultsOf(page)).toEqual([]);
  expect(await faultsInTheDark(page)).toEqual([]);
  expect(await titleColor()).not.toBe(light);
  expect(faults).toEqual([]);
  await close();
});

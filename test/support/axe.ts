import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { desktop, phone } from "./browser.ts";
import { waitUntil } from "./wait.ts";

/** Of the rules, these alone depend on colours and the size of the window. */
const ofLooks = ["color-contrast", "scrollable-region-focusable"];

/** Ends the animations that run, and says how many there were. */
const endAnimations = `{
  const running = document.getAnimations();
  for (const each of running) each.finish();
  running.length;
}`;

/** What axe finds on the page that is open, as it is on a desktop. */
export async function faultsOf(page: Page): Promise<string[]> {
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize(desktop);
  return violations(page);
}

/** The same in the dark, on a phone, by the rules that depend on these. */
export async function faultsInTheDark(page: Page): Promise<string[]> {
  await page.emulateMedia({ colorScheme: "dark" });
  await page.setViewportSize(phone);
  // Swagger UI changes its colours slowly. Whatever still changes comes to its end here.
  await waitUntil("the end of all animations", async () => (await page.evaluate(endAnimations)) === 0);
  return violations(page, { runOnly: { type: "rule", values: ofLooks } });
}

async function violations(page: Page, rules: object = {}): Promise<string[]> {
  // To describe all that passes takes a third of the time.
  const axe = new AxeBuilder({ page }).options({ ...rules, resultTypes: ["violations"] });
  const { violations } = await axe.setLegacyMode().analyze();
  return violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html}`);
}

import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { desktop, phone } from "./browser.ts";

/** Of the rules, these alone depend on colours and the size of the window. */
const ofLooks = ["color-contrast", "scrollable-region-focusable"];

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
  // Swagger UI changes its colours slowly.
  await expect.poll(() => page.evaluate("document.getAnimations().length")).toBe(0);
  return violations(page, { runOnly: { type: "rule", values: ofLooks } });
}

async function violations(page: Page, rules: object = {}): Promise<string[]> {
  // To describe all that passes takes a third of the time.
  const axe = new AxeBuilder({ page }).options({ ...rules, resultTypes: ["violations"] });
  const { violations } = await axe.setLegacyMode().analyze();
  return violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html}`);
}

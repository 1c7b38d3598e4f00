import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

import { findChromium } from "../../scripts/lib/chromium.mjs";
import { afterFile } from "./after-file.ts";

/** A page of a browser, and what went wrong in it. */
export interface WatchedPage {
  page: Page;
  /** Dialogs, errors, refusals of the content security policy, requests to elsewhere: a good page has none. */
  faults: string[];
  close(): Promise<void>;
}

/** Starts a Chromium that ends after the file's last test. `args` are added to its command line. */
export async function startBrowser(args: string[] = []): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error("There is no Chromium; node scripts/setup.mjs test installs one.");
  const browser = await chromium.launch({ executablePath, args });
  afterFile(() => browser.close());
  return browser;
}

/** Opens a page in a context of its own: nothing is cached or remembered from another. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("console", (message) => {
    const { url } = message.location();
    // What a navigation is answered with is for the test to look at.
    const isNavigation = message.text().startsWith("Failed to load resource") && url === page.url();
    if (["error", "warning"].includes(message.type()) && !isNavigation) faults.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    const { protocol, origin } = new URL(request.url());
    if (page.url() !== "about:blank" && protocol !== "data:" && origin !== new URL(page.url()).origin) {
      faults.push(`request: ${request.url()}`);
    }
  });
  return { page, faults, close: () => context.close() };
}

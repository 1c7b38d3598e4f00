import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

import { findChromium } from "../../scripts/lib/chromium.mjs";
import { afterFile } from "./after-file.ts";

/** The sizes of two windows. */
export const desktop = { width: 1200, height: 800 };
export const phone = { width: 360, height: 740 };

/** A page in a browser, and its problems. */
export interface WatchedPage {
  page: Page;
  /** Dialogs, errors, violations of the content security policy, requests to other hosts. A good page has none. */
  faults: string[];
  close(): Promise<void>;
}

/** All pages of a browser share one process: to start one for each, and one in reserve, takes a fifth of the time of short tests. */
const oneRenderer = "--renderer-process-limit=1";

/** Starts Chromium, which ends after the last test of the file. `args` are added to its command line. */
export async function startBrowser(args: string[] = []): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error("There is no Chromium; node scripts/setup.mjs test installs one.");
  const browser = await chromium.launch({ executablePath, args: [oneRenderer, ...args] });
  afterFile(() => browser.close());
  return browser;
}

/** Opens a page in a new context, which shares no cache and no storage with others. */
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
    // The test checks the response to the navigation itself.
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

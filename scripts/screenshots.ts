// Takes the README's pictures of the board and of a receipt that the browser has verified. Run: node scripts/screenshots.ts
// It starts the service on a private database with sample content and a fixed time, so that the pictures change only if the
// pages change. The font is Palatino or its substitute (Debian: fonts-urw-base35).
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { startApp } from "../src/app/app.ts";
import { readConfig } from "../src/config/config.ts";
import { findChromium } from "./lib/chromium.mjs";
import { fill, sampleSpan } from "./sample/fill.ts";

const folder = join(import.meta.dirname, "../docs");
const operatorToken = "only-for-the-pictures-of-the-readme";
const end = Date.parse("2026-11-20T16:20:00Z");
const view = { width: 1000, height: 720 };

const executablePath = findChromium();
if (executablePath === undefined) throw new Error("There is no Chromium; node scripts/setup.mjs test installs one.");
const dataDir = mkdtempSync(join(tmpdir(), "stoa-screenshots-"));
const clock = { ms: end - sampleSpan, end };
const settings = {
  STOA_PORT: "0",
  STOA_DATA_DIR: dataDir,
  STOA_SITE_URL: "https://stoa.example",
  STOA_OPERATOR_TOKEN: operatorToken,
  STOA_LOG_LEVEL: "warn",
};
const app = await startApp(readConfig(settings), { now: () => clock.ms });
const browser = await chromium.launch({ executablePath });
try {
  await fill(app.url, operatorToken, clock);
  mkdirSync(folder, { recursive: true });
  const page = await browser.newPage({ viewport: view, colorScheme: "light" });
  await page.goto(app.url);
  await page.screenshot({ path: join(folder, "board.png") });

  await page.goto(`${app.url}/house/receipts/6`);
  await page.getByRole("button", { name: /back to the start/ }).click();
  await page.locator(".verdict.good").waitFor();
  await page.mouse.move(0, 0);
  const bottom = await page.evaluate<number>(
    "scrollY + document.querySelector('summary').getBoundingClientRect().bottom",
  );
  await page.screenshot({
    path: join(folder, "receipt.png"),
    fullPage: true,
    clip: { x: 0, y: 0, width: view.width, height: Math.ceil(bottom) + 24 },
  });
} finally {
  await browser.close();
  await app.close();
  rmSync(dataDir, { recursive: true });
}

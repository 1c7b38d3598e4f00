import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { findChromium } from "../../scripts/lib/chromium.mjs";

const folder = mkdtempSync(join(tmpdir(), "stoa-chromium-"));
afterAll(() => rmSync(folder, { recursive: true }));

it.runIf(process.platform === "linux")("a Chromium is found by any of its names, where it can be run", () => {
  const path = join(folder, "google-chrome");
  expect(findChromium({ PATH: "" })).toBeUndefined();
  writeFileSync(path, "");
  expect(findChromium({ PATH: folder })).toBeUndefined();
  chmodSync(path, 0o755);
  expect(findChromium({ PATH: ["/nowhere", folder].join(delimiter) })).toBe(path);
});

// The browser for the tests of the pages and for the screenshots.
import { delimiter, join } from "node:path";
import { isExecutable } from "../../src/process/programs.mjs";

const names = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];
const elsewhere = [
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

/** Returns the path of a Chromium on this machine, or undefined. */
export function findChromium() {
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const candidates = names.flatMap((name) => folders.map((folder) => join(folder, name)));
  return [...candidates, ...elsewhere].find(isExecutable);
}

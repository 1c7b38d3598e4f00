// The pages of documentation, as the tests read them.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The folder of the repository. */
export const root = fileURLToPath(new URL("../..", import.meta.url));

/** Every page, by its path in the repository. */
export const pages: readonly string[] = [
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "CHANGELOG.md",
  "src/receipt/FORMAT.md",
  ...readdirSync(`${root}/docs`, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

/** The text of a page. @param path its path in the repository */
export function readPage(path: string): string {
  return readFileSync(`${root}/${path}`, "utf8");
}

/** The contents of the fenced blocks in one language, in their order. */
export function blocksIn(text: string, language: string): string[] {
  const fenced = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms");
  return [...text.matchAll(fenced)].map(([, block]) => block as string);
}

/** A page without its fenced blocks. */
export function withoutBlocks(text: string): string {
  return text.replace(/^ *```.*?^ *```$/gms, "");
}

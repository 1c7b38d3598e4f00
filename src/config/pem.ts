import { readFileSync } from "node:fs";

/** The text of a PEM file. @throws Error whose message follows the name of the setting */
export function readPem(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new Error(`names a file that cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  if (!text.includes("-----BEGIN ")) throw new Error("must name a PEM file");
  return text;
}

import { readRegularFile } from "../process/read-file.ts";

/** The text of a PEM file. @throws Error whose message follows the name of the setting */
export function readPem(path: string): string {
  const text = readRegularFile(path);
  if (!text.includes("-----BEGIN ")) throw new Error("must name a PEM file");
  return text;
}

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Outcome } from "./vector.ts";

const python = existsSync("/usr/bin/python3") ? "/usr/bin/python3" : "python3";
const script = fileURLToPath(new URL("verify.py", import.meta.url));

/** What the verifier in Python says of the vectors in the folders of `folder`, by their paths. */
export function checkInPython(folder: string): { [path: string]: Outcome } {
  return JSON.parse(execFileSync(python, [script, folder], { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 }));
}

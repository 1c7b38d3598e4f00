// Writes test/vectors/: valid and invalid chains, one per file, and in log/ what a verifier of the log checks, likewise. Tests
// compare the files with this output.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { invalidVectors } from "../test/receipt/vectors/invalid.ts";
import { validVectors } from "../test/receipt/vectors/valid.ts";
import { logVectorFiles } from "../test/tlog/vectors/all.ts";

const folder = new URL("../test/vectors/", import.meta.url);

/** Returns the text of every vector file of receipts by its path in test/vectors/. */
export function vectorFiles(): Map<string, string> {
  const files = new Map<string, string>();
  for (const [kind, vectors] of Object.entries({ valid: validVectors(), invalid: invalidVectors() })) {
    for (const [name, vector] of Object.entries(vectors)) {
      files.set(`${kind}/${name}.json`, `${JSON.stringify(vector, undefined, 2)}\n`);
    }
  }
  return files;
}

if (import.meta.main) {
  for (const written of ["valid", "invalid", "log"]) rmSync(new URL(written, folder), { recursive: true, force: true });
  write(folder, vectorFiles());
  write(new URL("log/", folder), await logVectorFiles());
}

function write(folder: URL, files: Map<string, string>): void {
  for (const [path, text] of files) {
    const file = new URL(path, folder);
    mkdirSync(new URL(".", file), { recursive: true });
    writeFileSync(file, text);
  }
}

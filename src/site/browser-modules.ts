import { readFileSync } from "node:fs";
import { stripTypes } from "./strip-types.ts";

/** A module as browsers load it. */
export interface BrowserModule {
  /** The TypeScript file that it comes from. */
  file: URL;
  name: string;
  code: string;
}

const imports = /^((?:import|export)\b[^"';]*?from\s*|import\s*)"([^"]*)"/gm;

/**
 * Publishes a TypeScript module and all modules that it imports as JavaScript. Types are blanked out and the addresses of
 * imports are replaced; nothing else changes. The reader's browser runs the same code as the server and the command line.
 * @param publish is called once for each module, after the modules that it imports; returns the module's address
 * @returns the address of the first module
 * @throws Error when a module is missing, is part of an import cycle, or imports what a browser does not have
 */
export function publishModules(file: URL, publish: (module: BrowserModule) => string): string {
  const addresses = new Map<string, string>();
  const load = (at: URL, from: readonly string[]): string => {
    const known = addresses.get(at.href);
    if (known !== undefined) return known;
    if (from.includes(at.href)) throw new Error(`${at.pathname} imports itself through other modules.`);
    const stripped = stripTypes(readFileSync(at, "utf8"));
    const code = stripped.replace(imports, (_, start: string, path: string) => {
      if (!/^\.{1,2}\/.*\.ts$/.test(path))
        throw new Error(`${at.pathname} imports ${path}, which browsers do not have.`);
      return `${start}"${load(new URL(path, at), [...from, at.href])}"`;
    });
    const name = (at.pathname.split("/").at(-1) as string).replace(/\.ts$/, "");
    const address = publish({ file: at, name, code });
    addresses.set(at.href, address);
    return address;
  };
  return load(file, []);
}

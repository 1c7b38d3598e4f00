import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";

/** A module as browsers get it. */
export interface BrowserModule {
  /** Its file. */
  file: URL;
  name: string;
  code: string;
}

const imports = /^((?:import|export)\b[^"';]*?from\s*|import\s*)"([^"]*)"/gm;

/**
 * A TypeScript module and those that it imports, as JavaScript: the types are blanked out, and nothing else is changed
 * but where the imports lead. What the reader's browser runs is thus what the server and the command line run.
 * @param publish makes the address of a module, once its code is whole
 * @returns the address of the first module
 * @throws Error when a module is missing, imports in a circle, or imports what a browser does not have
 */
export function publishModules(file: URL, publish: (module: BrowserModule) => string): string {
  const addresses = new Map<string, string>();
  const load = (at: URL, from: readonly string[]): string => {
    const known = addresses.get(at.href);
    if (known !== undefined) return known;
    if (from.includes(at.href)) throw new Error(`${at.pathname} imports itself, by way of others.`);
    const stripped = stripTypeScriptTypes(readFileSync(at, "utf8"));
    const code = stripped.replace(imports, (_, start: string, path: string) => {
      if (!/^\.{1,2}\/.*\.ts$/.test(path)) throw new Error(`${at.pathname} imports ${path}, which no browser has.`);
      return `${start}"${load(new URL(path, at), [...from, at.href])}"`;
    });
    const name = (at.pathname.split("/").at(-1) as string).replace(/\.ts$/, "");
    const address = publish({ file: at, name, code });
    addresses.set(at.href, address);
    return address;
  };
  return load(file, []);
}

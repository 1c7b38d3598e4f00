// What `npm pack` and `npm publish` run before and after. The package is the client and the command line, without the
// server, and Node runs no TypeScript inside node_modules: so lib/ is emitted, and the manifest is cut down to what a
// consumer needs, which is what the emitted code imports.
//   node scripts/pack.ts prepack | postpack
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const manifest = join(root, "package.json");
/** The manifest of the repository while the package's is in its place. */
const kept = join(root, "package.json.kept");
const lib = join(root, "lib");
/** What the emitted code runs on; the server needs more, and its manifest says so. */
const engines = { node: ">=20" };

function prepack(): void {
  restore();
  execFileSync(join(root, "node_modules/.bin/tsc"), ["-p", "tsconfig.pack.json"], { cwd: root, stdio: "inherit" });
  const whole = JSON.parse(readFileSync(manifest, "utf8"));
  // Whoever has the tarball has had it published, or need not.
  const {
    private: _private,
    scripts: _scripts,
    devDependencies: _dev,
    optionalDependencies: _optional,
    ...others
  } = whole;
  const { allowScripts: _allow, scarfSettings: _scarf, ...rest } = others;
  const dependencies = Object.fromEntries(
    importedPackages().map((name) => {
      const version = whole.dependencies[name];
      if (version === undefined) throw new Error(`the package imports ${name}, which is not among the dependencies`);
      return [name, version];
    }),
  );
  renameSync(manifest, kept);
  writeFileSync(manifest, `${JSON.stringify({ ...rest, engines, dependencies }, null, 2)}\n`);
}

/** Undoes what `prepack` did, also one that was interrupted. */
function restore(): void {
  rmSync(lib, { recursive: true, force: true });
  if (existsSync(kept)) renameSync(kept, manifest);
}

/** The packages that the code and the declarations of lib/ and gen/ import, by name. */
function importedPackages(): string[] {
  const names = new Set<string>();
  for (const folder of [lib, join(root, "gen")]) {
    for (const file of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      if (!/\.(js|d\.ts)$/.test(file)) continue;
      const text = readFileSync(join(folder, file), "utf8");
      for (const [, specifier = ""] of text.matchAll(
        /^(?:(?:import|export|\}).* from|import) "([^"./\n][^"\n]*)";?$/gm,
      )) {
        const [scope = "", name] = specifier.split("/");
        if (!specifier.startsWith("node:")) names.add(scope.startsWith("@") ? `${scope}/${name}` : scope);
      }
    }
  }
  return [...names].sort();
}

const step = process.argv[2];
if (step === "prepack") {
  try {
    prepack();
  } catch (error) {
    restore();
    throw error;
  }
} else if (step === "postpack") restore();
else throw new Error("usage: node scripts/pack.ts prepack | postpack");

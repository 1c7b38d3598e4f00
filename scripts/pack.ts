// Runs before and after `npm pack` and `npm publish`. The package contains the client and the command line without the
// server. Node.js runs no TypeScript inside node_modules, so this emits lib/. It also reduces the manifest to the packages
// that the emitted code imports.
//   node scripts/pack.ts prepack | postpack
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const manifest = join(root, "package.json");
/** The place of the repository's manifest while package.json is the package's manifest. */
const kept = join(root, "package.json.kept");
/** npm packs this page, so the package's own takes its place as well. It also packs whatever begins with README. */
const readme = join(root, "README.md");
const keptReadme = join(root, "kept.README.md");
const lib = join(root, "lib");
/** The versions of Node.js that run the emitted code. The server needs a newer one, as the repository's manifest says. */
const engines = { node: ">=20" };

function prepack(): void {
  restore();
  execFileSync(join(root, "node_modules/.bin/tsc"), ["-p", "scripts/tsconfig.pack.json"], {
    cwd: root,
    stdio: "inherit",
  });
  const whole = JSON.parse(readFileSync(manifest, "utf8"));
  // `private` prevents publishing from the repository, and is not needed in the package.
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
  renameSync(readme, keptReadme);
  copyFileSync(join(root, "src/client/README.md"), readme);
  renameSync(manifest, kept);
  writeFileSync(manifest, `${JSON.stringify({ ...rest, engines, dependencies }, null, 2)}\n`);
}

/** Undoes `prepack`, even an interrupted one. */
function restore(): void {
  rmSync(lib, { recursive: true, force: true });
  if (existsSync(kept)) renameSync(kept, manifest);
  if (existsSync(keptReadme)) renameSync(keptReadme, readme);
}

/** Returns the names of the packages that the code and the declarations of lib/ and gen/ import. */
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

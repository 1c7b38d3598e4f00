// A version of the service from the history of this repository.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const git = (...args: string[]) => execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: "pipe" }).trim();

/** The source of a commit, with its packages, in a folder of its own. */
export interface OlderVersion {
  commit: string;
  /** The main module of its service. */
  program: string;
  remove(): void;
}

/**
 * Takes the commit before the one that added a migration.
 * @param migration the name of its file, without the ending
 * @throws Error that says what is missing: a shallow clone has no history
 */
export function takeVersionBefore(migration: string): OlderVersion {
  const commit = commitBefore(migration);
  const folder = mkdtempSync(join(tmpdir(), "stoa-older-"));
  const remove = () => {
    git("worktree", "remove", "--force", folder);
    rmSync(folder, { recursive: true, force: true });
  };
  git("worktree", "add", "--detach", folder, commit);
  try {
    addPackages(folder);
  } catch (error) {
    remove();
    throw error;
  }
  return { commit, program: join(folder, "src/main.ts"), remove };
}

function commitBefore(migration: string): string {
  const needs = "this test needs the history of the repository";
  let isShallow: boolean;
  try {
    isShallow = git("rev-parse", "--is-shallow-repository") === "true";
  } catch (error) {
    throw new Error(`${needs}, and this folder is none of git`, { cause: error });
  }
  if (isShallow) throw new Error(`${needs}, and this clone is shallow: git fetch --unshallow`);
  const path = `src/store/schema/migrations/${migration}.sql`;
  const added = git("log", "--diff-filter=A", "--format=%H", "--reverse", "--", path).split("\n")[0];
  if (!added) throw new Error(`${needs}: no commit has added ${path}`);
  return git("rev-parse", `${added}^`);
}

/** Uses the packages of this version if they have what the older one needs; otherwise installs its own. */
function addPackages(folder: string): void {
  const needed: Record<string, string> = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).dependencies;
  if (Object.entries(needed).every(([name, version]) => versionOf(name) === version)) {
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  } else execFileSync("npm", ["ci", "--omit=dev", "--ignore-scripts"], { cwd: folder, stdio: "pipe" });
}

function versionOf(name: string): string | undefined {
  try {
    return JSON.parse(readFileSync(join(root, "node_modules", name, "package.json"), "utf8")).version;
  } catch {
    return undefined;
  }
}

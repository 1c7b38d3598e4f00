// The sections of a page for operators, and their commands, run by a shell.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";
import { nodeEnvironment } from "../support/node-environment.ts";
import { blocksIn, readPage, root } from "./pages.ts";

const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** Replaces what differs from one run to the next. */
const settled = (text: string) =>
  text
    .replace(/\b[0-9a-f]{64}\b/g, "HASH")
    .replace(/\b\d{4}-\d\d-\d\d \d\d:\d\d\b/g, "DATE TIME")
    .replace(/\d+ KiB/g, "N KiB")
    .replace(/\d{4}-\d\d-\d\d\.sql/g, "DATE.sql")
    .replace(/(schema \w+), from \S+ [\d.]+/g, "$1, from ENGINE")
    .trim();

/** What stands on the page for a thing of the test, and that thing. */
export type Places = readonly (readonly [shown: string, here: string])[];

/** The sections of a page. */
export class Sections {
  /** What is under each heading, up to the next heading of any level. */
  readonly #text: ReadonlyMap<string, string>;
  readonly #done: string[] = [];

  /** @param path the path of the page in the repository */
  constructor(path: string) {
    const parts = readPage(path).split(/^#+ /m).slice(1);
    this.#text = new Map(parts.map((part) => [part.slice(0, part.indexOf("\n")), part]));
  }

  textOf(heading: string): string {
    return this.#text.get(heading) ?? "";
  }

  /**
   * Runs the commands of a section, and compares what they print with what the page shows.
   * @param settings added to the environment
   */
  async run(heading: string, places: Places, settings: Record<string, string>): Promise<void> {
    this.#done.push(heading);
    const script = places.reduce(
      (text, [shown, here]) => text.replaceAll(shown, here),
      blocksIn(this.textOf(heading), "sh").join("\n"),
    );
    // npm starts as slowly as the command itself. One section runs it as the page has it.
    const program = scripts.stoa.replace(/^node /, `${process.execPath} `);
    const started = heading === "The commands" ? script : script.replaceAll("npm run --silent stoa --", program);
    const env = { ...process.env, ...nodeEnvironment, ...settings };
    const { stdout } = await promisify(execFile)("bash", ["--norc", "-euo", "pipefail", "-c", started], {
      cwd: root,
      env,
    });
    const output = settled(places.reduce((text, [shown, here]) => text.replaceAll(here, shown), stdout));
    for (const shown of blocksIn(this.textOf(heading), "text")) expect(output).toContain(settled(shown));
  }

  /**
   * Expects that every section with commands was run.
   * @param elsewhere those that the tests of another file run
   */
  expectAllRun(elsewhere: string[] = []): void {
    const withCommands = [...this.#text].filter(([, text]) => blocksIn(text, "sh").length > 0);
    expect([...this.#done, ...elsewhere].sort()).toEqual(withCommands.map(([heading]) => heading).sort());
  }
}

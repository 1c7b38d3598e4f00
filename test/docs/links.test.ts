// What the pages name exists: links, headings, paths, npm scripts, pictures.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { pages, readPage, root, withoutBlocks } from "./pages.ts";

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): Set<string> {
  const headings = [...withoutBlocks(readPage(page)).matchAll(/^#+ (.*)$/gm)];
  return new Set(
    headings.map(([, heading]) =>
      (heading as string)
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, "")
        .trim()
        .replaceAll(" ", "-"),
    ),
  );
}

/** The targets of a page's links that are not on other sites. */
function linksOf(page: string): string[] {
  return [...withoutBlocks(readPage(page)).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target]) => target as string)
    .filter((target) => !/^https?:/.test(target));
}

/** The paths of files and folders in this repository that a text names as code. */
function pathsIn(text: string): string[] {
  const named = /(?<![\w./-])(?:src|test|scripts|bench|proto|gen|docs|\.github|\.ci)\/[\w./-]*\w/g;
  return text.match(named) ?? [];
}

describe.each(pages)("%s", (page) => {
  it("links to files and headings that exist", () => {
    const missing = linksOf(page).filter((link) => {
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? page : relative(root, join(root, dirname(page), path));
      if (!existsSync(join(root, target))) return true;
      return anchor !== undefined && !anchorsOf(target).has(anchor);
    });
    expect(missing).toEqual([]);
  });

  it("names files and folders that exist", () => {
    expect(pathsIn(readPage(page)).filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it("names npm scripts that exist", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const named = [...readPage(page).matchAll(/npm run (?:--silent )?([a-z][\w:-]*)/g)].map(
      ([, name]) => name as string,
    );
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });
});

it("the table of attacks names files of test/hostile", () => {
  const [, table = ""] =
    /^\| attack on the bare service \|.*\n((?:\|.*\n)+)/m.exec(readPage("docs/reference.md")) ?? [];
  const named = [...table.matchAll(/`([\w-]+)`/g)].map(([, name]) => `test/hostile/${name}.test.ts`);
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

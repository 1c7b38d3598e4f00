import { chownSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { type HeadFile, HeadFolder } from "../../../src/ledger/head-guard/head-folder.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";

const record = { seq: 7, hash: "b".repeat(64), recoveries: [], ledger: "a".repeat(64), database: "here" };
const final = `${"a".repeat(16)}-7-${"b".repeat(16)}.json`;

it("a write syncs the file before the rename, and the folder before it returns", async () => {
  const path = scratchFolder();
  const folder = new HeadFolder(path, "here");
  const heads = join(path, "heads");
  mkdirSync(heads);
  const file = await open(path);
  const handle = Object.getPrototypeOf(file) as typeof file;
  await file.close();
  const synced: string[][] = [];
  const { sync } = handle;
  const spy = vi.spyOn(handle, "sync").mockImplementation(function (this: typeof file) {
    synced.push(readdirSync(heads));
    return sync.call(this);
  });
  onTestFinished(() => spy.mockRestore());
  const written = await folder.write(record);
  expect(synced).toEqual([[expect.stringMatching(/\.new$/)], [final]]);
  expect((await folder.read()).heads).toEqual<HeadFile[]>([written]);
});

it("an unfinished file is never read, and is removed after a minute", async () => {
  const path = scratchFolder();
  const folder = new HeadFolder(path, "here");
  mkdirSync(join(path, "heads"));
  for (const name of ["old", "fresh"]) writeFileSync(join(path, "heads", `${final}.${name}.new`), '{"v":1');
  utimesSync(join(path, "heads", `${final}.old.new`), 0, 0);
  expect(await folder.read()).toEqual({ heads: [], damaged: [] });
  await folder.sweep();
  expect(readdirSync(join(path, "heads"))).toEqual([`${final}.fresh.new`]);
});

it.runIf(process.getuid?.() === 0)("what root writes belongs to whom the folder belongs", async () => {
  const path = scratchFolder();
  const nobody = 65_534;
  chownSync(path, nobody, nobody);
  const { path: file } = await new HeadFolder(path, "here").write(record);
  expect([join(path, "heads"), file].map((each) => statSync(each).uid)).toEqual([nobody, nobody]);
});

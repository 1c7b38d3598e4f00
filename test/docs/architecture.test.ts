// The pictures and flows of docs/architecture.md against the source.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { layers } from "../../scripts/lib/layers.ts";
import { blocksIn, readPage, root } from "./pages.ts";

const page = readPage("docs/architecture.md");
const [layerPicture = ""] = blocksIn(page, "mermaid");

/** The label of each node of the picture by its id. */
const labels = new Map(
  [...layerPicture.matchAll(/(\w+)\["([^"]+)"\]/g)].map(([, id, label]) => [id as string, label as string]),
);

/** The layers that a label of the picture stands for. */
function layersOf(label: string): string[] {
  return label.endsWith("/*") ? Object.keys(layers).filter((layer) => layer.startsWith(label.slice(0, -1))) : [label];
}

function mayImport(layer: string, other: string): boolean {
  const allowed = (layers[layer] ?? "").split(" ");
  return allowed.some((each) => each === other || (each.endsWith("/*") && other.startsWith(each.slice(0, -1))));
}

it("the picture of the layers has every layer, and no other", () => {
  const shown = [...labels.values()].flatMap(layersOf);
  expect([...shown, "errors", "timing", "tracing", "warnings"].sort()).toEqual(Object.keys(layers).sort());
});

it("the picture of the layers has only arrows that the table allows", () => {
  const arrows = [...layerPicture.matchAll(/(\w+)(?:\["[^"]+"\])? --> (\w+)/g)].map(([, from, to]) => [
    labels.get(from as string) as string,
    labels.get(to as string) as string,
  ]);
  expect(arrows.length).toBeGreaterThan(30);
  const wrong = arrows.filter(
    ([from = "", to = ""]) => !layersOf(from).some((layer) => layersOf(to).some((other) => mayImport(layer, other))),
  );
  expect(wrong).toEqual([]);
});

it("the table of folders has every folder of src/", () => {
  const [, section = ""] = /^\| folder of `src\/` \|(.*?)\n\n/ms.exec(page) ?? [];
  const named = [...section.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, cell]) => cell?.match(/[\w.-]+/g) ?? []);
  const folders = readdirSync(join(root, "src"), { withFileTypes: true }).map(({ name }) => name);
  expect(named.sort()).toEqual([...folders].sort());
});

it("each of the three flows takes fewer than ten hops", () => {
  const flows = page.split(/^### (?=A post by REST|The same post by gRPC|The home page)/m).slice(1);
  expect(flows).toHaveLength(3);
  for (const flow of flows) {
    const hops = flow.split(/^## /m)[0]?.match(/^\| \d+ \| `src\/[\w/.-]+\.ts` \|/gm) ?? [];
    expect(hops.length).toBeGreaterThan(5);
    expect(hops.length).toBeLessThan(10);
  }
});

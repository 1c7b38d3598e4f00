import { expect, it } from "vitest";
import { formatTilePath } from "../../../src/tlog/tiles/tile-path.ts";

// What paths there are, the vectors say: the library and the verifier in Python read them, and any change of them, alike.
it.each([
  { level: 64 },
  { level: -1 },
  { level: 0.5 },
  { index: -1 },
  { index: 2 ** 53 },
  { width: 0 },
  { width: 257 },
])("no tile has numbers without a path: %j", (bad) => {
  expect(() => formatTilePath({ level: 0, index: 0, width: 1, ...bad })).toThrow(
    expect.objectContaining({ code: "out_of_range" }),
  );
});

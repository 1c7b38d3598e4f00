import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

interface Room {
  /** Patterns of its files. */
  readonly mutate: readonly string[];
  /** Patterns of the tests that run against each of its mutants. They need no database. */
  readonly tests: readonly string[];
  /** The tests of files that have not just a test of their own name. */
  readonly testedBy?: Readonly<Record<string, readonly string[]>>;
  /** How many of its mutants must be killed, in percent; 95 by default. The others behave like the source, such as caches. */
  readonly least?: number;
}

/** What has no input, output or state, and is tested by itself, by its folder in src. */
export const rooms: Readonly<Record<string, Room>> = {
  receipt: {
    mutate: ["src/receipt/**/*.ts", "!src/receipt/head-text.ts"],
    tests: ["test/receipt/**/*.test.ts"],
    testedBy: { verify: ["findings", "verify"], document: ["document", "verify"] },
  },
  tlog: {
    mutate: ["src/tlog/**/*.ts"],
    // The other tests of trees and vectors take seconds for each mutant, with Go, Python and a browser.
    tests: [
      "test/tlog/{merkle,tiles,notes,entries,proofs}/**/*.test.ts",
      "test/tlog/tree/{compact-range,proofs}.test.ts",
      "test/tlog/vectors.test.ts",
    ],
    testedBy: {
      "tree/hashing": ["tree/compact-range", "tree/proofs"],
      "tree/ranges": ["tree/proofs", "tiles/tiled-tree", "merkle/merkle"],
      "tree/proofs": ["tree/proofs", "merkle/merkle", "vectors"],
      "tiles/widths": ["tiles/growth", "tiles/tiled-tree"],
      "tiles/tile-tree": ["tiles/tiled-tree"],
      "tiles/prove": ["tiles/tiled-tree"],
      "tiles/tile-path": ["tiles/tile-path", "vectors"],
      "tiles/bundle": ["tiles/bundle", "vectors"],
      "notes/key": ["notes/key", "vectors"],
      "notes/signer-key": ["notes/key"],
      "notes/note": ["notes/note", "vectors"],
      "notes/checkpoint": ["notes/checkpoint", "vectors"],
      "notes/policy": ["notes/policy", "vectors"],
      "entries/members": ["entries/entry", "vectors"],
      "entries/entry-text": ["entries/entry", "vectors"],
      "entries/content": ["entries/content", "vectors"],
      "entries/canonical-text": ["entries/entry", "entries/content", "vectors"],
      "proofs/tlog-proof": ["proofs/tlog-proof", "vectors"],
      "proofs/extra": ["proofs/verify-item", "vectors"],
      "proofs/verify-item": ["proofs/verify-item", "vectors"],
      "proofs/expected-item": ["proofs/verify-item", "vectors"],
    },
  },
  "rate-limits": {
    mutate: ["src/rate-limits/gcra.ts", "src/rate-limits/quota.ts"],
    tests: ["test/rate-limits/{gcra,local-limit,new-agents,quota}.test.ts"],
  },
  transcoding: {
    mutate: ["decode", "encode", "json", "scalars", "well-known"].map((file) => `src/transcoding/${file}.ts`),
    tests: ["test/transcoding/**/*.test.ts"],
    testedBy: {
      decode: ["codec", "depth"],
      encode: ["codec", "times"],
      scalars: ["codec"],
      "well-known": ["well-known", "codec"],
    },
  },
  contract: { mutate: ["src/contract/equality.ts"], tests: ["test/contract/equality.test.ts"] },
  idempotency: {
    mutate: ["src/idempotency/fingerprint.ts"],
    tests: ["test/idempotency/fingerprint.test.ts"],
    least: 80,
  },
  board: {
    mutate: ["src/board/cursors.ts", ...["cursor", "query", "tokens"].map((file) => `src/board/search/${file}.ts`)],
    tests: ["test/board/cursors.test.ts", "test/board/search/{cursor,query,tokens}.test.ts"],
  },
  markdown: {
    mutate: ["src/markdown/*.ts"],
    tests: ["test/markdown/*.test.ts"],
    least: 90,
  },
};

/** How many mutants of a folder must be killed, in percent. @param folder such as src/receipt */
export function leastPercent(folder: string): number {
  return rooms[folder.split("/")[1] ?? ""]?.least ?? 95;
}

/** Whether a file is one of the places. @param file such as src/receipt/parse.ts */
export function isChosen(file: string, places: readonly string[]): boolean {
  if (places.length === 0) return true;
  return places.some((place) => {
    const path = `src/${place.split(":")[0]}`;
    return file === `${path}.ts` || file.startsWith(`${path}/`);
  });
}

/**
 * Finds what to mutate and which tests to run: for a room all its tests, for a file its own test if it has one.
 * @param places such as receipt, receipt/parse or receipt/parse:20-40; none means all rooms
 */
export function select(places: readonly string[]): Room {
  const chosen = (places.length > 0 ? places : Object.keys(rooms)).map((place): Room => {
    const [folder = "", file] = place.split(/\/(.*)/);
    const room = rooms[folder];
    if (room === undefined) throw new Error(`There is no room ${folder}. There are ${Object.keys(rooms).join(", ")}.`);
    if (file === undefined) return room;
    const [name, lines] = file.split(":");
    const own = (room.testedBy?.[name ?? ""] ?? [name]).map((test) => `test/${folder}/${test}.test.ts`);
    const tests = own.filter((test) => existsSync(fileURLToPath(new URL(`../../${test}`, import.meta.url))));
    return {
      mutate: [`src/${folder}/${name}.ts${lines === undefined ? "" : `:${lines}`}`],
      tests: tests.length > 0 ? tests : room.tests,
    };
  });
  const union = (key: "mutate" | "tests") => [...new Set(chosen.flatMap((room) => room[key]))];
  return { mutate: union("mutate"), tests: union("tests") };
}

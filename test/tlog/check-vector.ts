// Checks a vector with the library, as FORMAT.md says what each check does.
import { fromBase64, fromHex, toBase64, toHex, toUtf8 } from "../../src/tlog/encoding.ts";
import { type ContentKind, commitmentInput, parseContent } from "../../src/tlog/entries/content.ts";
import { parseEntry } from "../../src/tlog/entries/entry-text.ts";
import { TlogError } from "../../src/tlog/error.ts";
import { openCheckpoint } from "../../src/tlog/notes/checkpoint.ts";
import { formatVkey, parseVkey } from "../../src/tlog/notes/key.ts";
import { parsePolicy } from "../../src/tlog/notes/policy.ts";
import type { ExpectedItem } from "../../src/tlog/proofs/expected-item.ts";
import type { VerifyFunctions } from "../../src/tlog/proofs/tlog-proof.ts";
import { verifyItem } from "../../src/tlog/proofs/verify-item.ts";
import { parseBundle } from "../../src/tlog/tiles/bundle.ts";
import { proveInclusion } from "../../src/tlog/tiles/prove.ts";
import { formatTilePath, parseTilePath } from "../../src/tlog/tiles/tile-path.ts";
import { TiledTree } from "../../src/tlog/tiles/tiled-tree.ts";
import { CompactRange } from "../../src/tlog/tree/compact-range.ts";
import { leafInput, type TreeHasher } from "../../src/tlog/tree/hashing.ts";
import { checkInclusion } from "../../src/tlog/tree/proofs.ts";
import type { LogVector, Outcome } from "./vector.ts";

type Input = LogVector["input"];

/** What the library says of a vector. @param onFault is called with the message of a fault */
export async function checkVector(
  { check, input }: LogVector,
  functions: CheckFunctions,
  onFault?: (message: string) => void,
): Promise<Outcome> {
  const run = checks[check];
  if (run === undefined) throw new Error(`there is no check ${check}`);
  try {
    return { ok: true, ...(await run(input, functions)) };
  } catch (error) {
    if (!(error instanceof TlogError)) throw error;
    onFault?.(error.message);
    return { ok: false, fault: error.code };
  }
}

/** What a platform computes with. */
export interface CheckFunctions extends VerifyFunctions {
  hasher: TreeHasher;
}

const bytes = (base64: unknown) => fromBase64(base64 as string) as Uint8Array<ArrayBuffer>;
const hashes = (list: unknown) => (list as string[]).map(bytes);
const bytesOf = (input: Input, name: string) =>
  `${name}_base64` in input ? bytes(input[`${name}_base64`]) : toUtf8(input[name] as string);
const treeOf = ({ size, root }: { size?: unknown; root?: unknown }) => ({ size: size as number, root: bytes(root) });

type Check = (input: Input, functions: CheckFunctions) => object | undefined | Promise<object | undefined>;

const checks: { [check: string]: Check } = {
  root: ({ entries }, { hasher }) => {
    const range = new CompactRange(hasher);
    range.appendAll((entries as string[]).map(toUtf8));
    return { root: toBase64(range.root()) };
  },
  inclusion: async (input, { sha256 }) => {
    const leaf = await sha256(leafInput(bytesOf(input, "entry")));
    await checkInclusion(leaf, input.index as number, hashes(input.proof), treeOf(input), sha256);
    return undefined;
  },
  tile_path: ({ path }) => parseTilePath(path as string),
  tiles: async (input, { sha256 }) => {
    const tiles = input.tiles as Record<string, string>;
    const tree = await TiledTree.open(treeOf(input), (tile) => bytes(tiles[formatTilePath(tile)]), sha256);
    return { proof: (await proveInclusion(tree, input.index as number)).map(toBase64) };
  },
  bundle: ({ bundle, width }) => ({ entries: parseBundle(bytes(bundle), width as number).map(toBase64) }),
  vkey: async ({ vkey }, { sha256 }) => {
    const { name, id, publicKey } = await parseVkey(vkey as string, sha256);
    return { name, id, public_key: toBase64(publicKey) };
  },
  checkpoint: async (input, { sha256, verifyEd25519 }) => {
    const key = await parseVkey(input.vkey as string, sha256);
    const { checkpoint } = await openCheckpoint(bytesOf(input, "note"), [key], verifyEd25519);
    const { origin, size, root } = checkpoint;
    return { origin, size, root: toBase64(root) };
  },
  policy: async (input, { sha256 }) => {
    const { logs } = await parsePolicy(bytesOf(input, "policy"), sha256);
    return { logs: logs.map(({ key, url }) => ({ vkey: formatVkey(key), url: url ?? null })) };
  },
  entry: (input) => {
    const entry = parseEntry(bytesOf(input, "entry"));
    return { type: entry.type === "unknown" ? entry.named : entry.type };
  },
  content: async ({ kind, content, salt }, { sha256 }) => {
    parseContent(kind as ContentKind, content as string);
    const input = commitmentInput(fromHex(salt as string, 16) as Uint8Array, content as string);
    return { commitment: toHex(await sha256(input)) };
  },
  item: async (input, functions) => {
    const key = await parseVkey(input.vkey as string, functions.sha256);
    const verified = await verifyItem(bytesOf(input, "proof"), input.item as ExpectedItem, [key], functions);
    return { index: verified.index, size: verified.checkpoint.size, content: verified.content ?? null };
  },
};

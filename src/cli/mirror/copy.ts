import { LogFinding } from "../../client/signed-log/finding.ts";
import { logFunctions } from "../../client/signed-log/functions.ts";
import type { SignedLog } from "../../client/signed-log/signed-log.ts";
import { equalBytes } from "../../tlog/encoding.ts";
import { TlogError } from "../../tlog/error.ts";
import { parseBundle } from "../../tlog/tiles/bundle.ts";
import { type Bundle, formatTilePath, fullWidth } from "../../tlog/tiles/tile-path.ts";
import { TileTree } from "../../tlog/tiles/tile-tree.ts";
import type { TiledTree } from "../../tlog/tiles/tiled-tree.ts";
import { hashesAt, widthAt } from "../../tlog/tiles/widths.ts";
import { hashBytes, leafInput } from "../../tlog/tree/hashing.ts";
import type { MirrorFolder } from "./folder.ts";

/** How many bundles are read at once. Each takes 300 KiB of memory at most. */
const parallel = 8;

/**
 * Copies what the folder lacks. The folder has the files of an older tree. Every entry is hashed, and compared with the tree
 * that the log has signed, before it is written. Bundles that an interrupted copy has left are not requested again.
 * @param from the size of the older tree
 * @param onProgress is told how many of the new entries are done
 * @throws LogFinding or TlogError if the log does not verify; StoaError; StateError
 */
export async function copyTree(
  log: SignedLog,
  folder: MirrorFolder,
  from: number,
  onProgress: (entries: number) => void,
): Promise<void> {
  const { size } = log.tree;
  let done = 0;
  for (let level = 0; hashesAt(level, size) > 0; level++) {
    const first = Math.floor(hashesAt(level, from) / fullWidth);
    await inParallel(first, Math.ceil(hashesAt(level, size) / fullWidth), async (index) => {
      const tile = { level, index, width: widthAt(level, index, size) };
      if (level > 0) return folder.write(tile, (await log.tree.tile(level, index)).bytes);
      await folder.write(tile, await copyBundle(log, folder, { ...tile, level: "entries" }));
      // The first bundle may begin with entries of the older tree.
      done += Math.min(tile.width, index * fullWidth + tile.width - from);
      onProgress(done);
    });
  }
}

/** @returns the hashes of the entries */
async function copyBundle(log: SignedLog, folder: MirrorFolder, bundle: Bundle): Promise<Uint8Array> {
  const kept = await folder.find(bundle);
  const known = kept === undefined ? undefined : await checkBundle(kept, bundle, log.tree).catch(ignoreFinding);
  if (known !== undefined) {
    await folder.keep(bundle);
    return known;
  }
  const bytes = await log.source.tile(bundle);
  const hashes = await checkBundle(bytes, bundle, log.tree);
  if (hashes === undefined) {
    throw new LogFinding("wrong_tile", `${formatTilePath(bundle)} does not have the entries of the tree`);
  }
  await folder.write(bundle, bytes);
  return hashes;
}

/** @returns the hashes of the entries; undefined if the tree has other entries. @throws TlogError; StoaError */
async function checkBundle(
  bytes: Uint8Array,
  { index, width }: Bundle,
  tree: TiledTree,
): Promise<Uint8Array | undefined> {
  const hashes = new Uint8Array(width * hashBytes);
  for (const [at, entry] of parseBundle(bytes, width).entries()) {
    const hash = logFunctions.sha256(leafInput(entry));
    // Awaiting a hash that is already there takes longer than computing it.
    hashes.set(hash instanceof Uint8Array ? hash : await hash, at * hashBytes);
  }
  const isRight =
    width === fullWidth
      ? equalBytes(
          (await TileTree.of(hashes, width, logFunctions.sha256)).hash(8, 0),
          await tree.subtree({ height: 8, index }),
        )
      : equalBytes(hashes, (await tree.tile(0, index)).bytes);
  return isRight ? hashes : undefined;
}

/** The folder's own copy may be anything: a malformed one is read from the log again. @throws every other error */
function ignoreFinding(error: unknown): undefined {
  if (!(error instanceof TlogError) || error.code !== "bad_bundle") throw error;
}

/** Does work for each number from one to before another. The first error ends all of it. */
async function inParallel(from: number, to: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = from;
  const worker = async () => {
    while (next < to) {
      try {
        await work(next++);
      } catch (error) {
        next = to;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(parallel, to - from) }, worker));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

// Mirrors of a log, made by `stoa mirror`, for the checks of long runs.
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { formatVkey, type NoteKey } from "../../src/tlog/notes/key.ts";
import { parseBundle } from "../../src/tlog/tiles/bundle.ts";
import { formatTilePath } from "../../src/tlog/tiles/tile-path.ts";
import { widthAt } from "../../src/tlog/tiles/widths.ts";
import { listenHttp, webServerOf } from "./http-server.ts";
import { nodeEnvironment } from "./node-environment.ts";

const program = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

interface MirrorResult {
  ok: boolean | null;
  to: number;
  reason: string;
}

/** Runs `stoa mirror`. */
export async function runMirror(url: string, folder: string, key: NoteKey): Promise<MirrorResult> {
  const args = [program, "mirror", url, folder, "--json", "--log-key", formatVkey(key)];
  const run = promisify(execFile)(process.execPath, args, { env: { ...process.env, ...nodeEnvironment } });
  const { stdout } = await run.catch((error: { stdout: string }) => error);
  return JSON.parse(stdout);
}

/**
 * Mirrors a log, and compares the tiles of the mirror with those that are served.
 * @param kept a mirror from before, which must come to the same
 */
export async function checkMirror(
  url: string,
  size: number,
  key: NoteKey,
  kept: string | undefined,
): Promise<{ entries: Uint8Array[]; faults: string[] }> {
  const folder = mkdtempSync(join(tmpdir(), "stoa-mirror-"));
  try {
    for (const each of kept === undefined ? [folder] : [folder, kept]) {
      const { ok, to, reason } = await runMirror(url, each, key);
      const fault = `the mirror of ${url} has ${to} of ${size} entries: ${reason}`;
      if (!ok || to !== size) return { entries: [], faults: [fault] };
    }
    const faults = kept === undefined ? [] : await faultsOfKept(kept, folder, key);
    const entries = Array.from({ length: Math.ceil(size / 256) }, (_, index) => {
      const width = widthAt(0, index, size);
      return parseBundle(readFileSync(join(folder, formatTilePath({ level: "entries", index, width }))), width);
    });
    return { entries: entries.flat(), faults: [...faults, ...(await faultsOfTiles(url, folder))] };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Serves a mirror by a plain web server: it must verify against another one, which is a copy of the service. */
async function faultsOfKept(kept: string, other: string, key: NoteKey): Promise<string[]> {
  const { url, close } = await listenHttp(webServerOf(kept));
  const again = mkdtempSync(join(tmpdir(), "stoa-mirror-"));
  try {
    const ends = [await runMirror(url, other, key), await runMirror(url, again, key)];
    return ends.flatMap(({ ok, reason }) => (ok ? [] : [`the mirror that was kept does not verify: ${reason}`]));
  } finally {
    await close();
    rmSync(again, { recursive: true });
  }
}

async function faultsOfTiles(url: string, folder: string): Promise<string[]> {
  const faults: string[] = [];
  for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!/^tile\/\d.*\d$/.test(path) || !statSync(join(folder, path)).isFile()) continue;
    const response = await fetch(`${url}/log/${path}`);
    const isSame = response.status === 200 && readFileSync(join(folder, path)).equals(await response.bytes());
    if (!isSame) faults.push(`${path} of ${url} is wrong or missing: ${response.status}`);
  }
  return faults;
}

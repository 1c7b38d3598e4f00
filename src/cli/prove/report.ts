import type { VerifiedItem } from "../../tlog/proofs/verify-item.ts";
import type { Outcome } from "../outcome.ts";
import type { Output } from "../output.ts";

interface ProveResult extends Outcome {
  /** What was to be proved: an item of a service, or a file. */
  of: { url: string; item: string } | { file: string };
  /** The key of the service's log. */
  vkey?: string | undefined;
  /** Undefined if nothing was proved. */
  proved: VerifiedItem | undefined;
  author: { id: number; name: string } | undefined;
}

/** Reports whether something is proved. */
export function reportProof(output: Output, result: ProveResult): void {
  output.end(asJson(result), describe(result));
  const { content } = result.proved ?? {};
  if (!output.isJson && content !== undefined) output.printJson(content);
}

function describe({ ok, of, reason, proved, author }: ProveResult): string {
  const name = "file" in of ? of.file : `${of.item} of ${of.url}`;
  if (ok === null) return `${name} could not be checked: ${reason}`;
  if (proved === undefined) return `${name} is not proved: ${reason}`;
  const { checkpoint, index, entry } = proved;
  const by = author === undefined ? "" : `, by ${author.name}`;
  const place = `entry ${index} of ${checkpoint.size} in ${checkpoint.origin}`;
  return `${name} is proved: ${typeOf(entry)}${by}, ${entry.ts}, ${place}`;
}

function asJson({ ok, of, vkey, proved, author, reason }: ProveResult) {
  const { checkpoint, index, entry, content } = proved ?? {};
  return {
    ok,
    ...of,
    origin: checkpoint?.origin ?? null,
    vkey: vkey ?? null,
    index: index ?? null,
    size: checkpoint?.size ?? null,
    type: entry === undefined ? null : typeOf(entry),
    ts: entry?.ts ?? null,
    content: content ?? null,
    author: author ?? null,
    reason,
  };
}

function typeOf(entry: VerifiedItem["entry"]): string {
  return entry.type === "unknown" ? entry.named : entry.type;
}

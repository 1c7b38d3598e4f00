import { buildChain, type Change, type LooseDocument, toVector, type Vector, type VectorReceipt } from "../chain.ts";

export type Vectors = { [name: string]: Vector };

export function vector(
  seq: number,
  fault: string,
  description: string,
  receipts: VectorReceipt[],
  more?: Partial<Vector>,
): Vector {
  return { description, receipts, ...more, expect: { ok: false, seq, fault } };
}

/** Five receipts, one of which is changed before the later ones link to it. The fault is found there. */
export function changed(seq: number, fault: string, description: string, change: Change): Vector {
  return vector(seq, fault, description, buildChain(5, { [seq]: change }).map(toVector));
}

/** Changes the canonical text of receipt 4, a session. */
export function rewritten(fault: string, description: string, from: string | RegExp, to: string): Vector {
  const text = (text: string) => {
    const result = text.replace(from, () => to);
    if (result === text) throw new Error(`there is no ${from} in ${text}`);
    return result;
  };
  return changed(4, fault, description, { text });
}

/** Replaces the note of receipt 4, which may be any string, with a JSON text. */
export const noteAs = (fault: string, description: string, json: string) =>
  rewritten(fault, description, '"The market closed in order."', json);

/** Rewrites 1204, a number in the evidence of receipt 4. */
export const numberAs = (fault: string, description: string, json: string) =>
  rewritten(fault, description, "1204", json);

/** Replaces a member of the evidence of receipt 4 with others. */
export const evidenceAs = (fault: string, description: string, members: string) =>
  rewritten(fault, description, /"bushels":1204/, members);

/** Changes members of one receipt's document, or of an object in it. */
export function edited(seq: number, fault: string, description: string, members: LooseDocument): Vector {
  const isObject = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);
  const document = (document: LooseDocument) => {
    for (const [name, value] of Object.entries(members)) {
      if (isObject(value) && isObject(document[name])) Object.assign(document[name], value);
      else document[name] = value;
    }
  };
  return changed(seq, fault, description, { document });
}

/** Makes receipt `seq` a recovery that abandons another receipt. */
export function recovered(seq: number, abandonedSeq: number, abandonedHash: string): { [seq: number]: Change } {
  const document = (document: LooseDocument) => {
    const { count, head } = document.body;
    const note = "Restored from the backup of the night.";
    document.body = { type: "recovery", count, head, abandoned_seq: abandonedSeq, abandoned_hash: abandonedHash, note };
  };
  return { [seq]: { document } };
}

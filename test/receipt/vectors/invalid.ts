import { notBytes, notJson } from "./bytes.ts";
import { notCanonical } from "./canonical.ts";
import type { Vectors } from "./defect.ts";
import { notWellFormed, notWhole } from "./document.ts";
import { notEnded, notLinked } from "./links.ts";

/** Chains with one defect each, by file name. Everything else in them is correct. */
export function invalidVectors(): Vectors {
  return {
    ...notBytes(),
    ...notJson(),
    ...notCanonical(),
    ...notWhole(),
    ...notWellFormed(),
    ...notLinked(),
    ...notEnded(),
  };
}

import { notBytes, notJson } from "./bytes.ts";
import { notCanonical } from "./canonical.ts";
import type { Vectors } from "./defect.ts";
import { notWellFormed, notWhole } from "./document.ts";
import { notEnded, notLinked } from "./links.ts";

/** Chains with one defect each, by the name of their file. Everything else in them is as it should be. */
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

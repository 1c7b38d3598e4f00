import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");

/** Frees at once whatever is not reachable. */
export const collectGarbage = runInNewContext("gc") as () => void;

import type { Equivalents } from "./score.ts";

export const equivalents: Equivalents = {};

// Provokes V8's bug with names that contain escapes (see src/receipt/parse.ts).
import type { Json } from "../../src/receipt/canonical.ts";

/**
 * Lets the engine parse `value` with other names in place of those that are written with an escape: the beginnings of
 * their written forms. From then on, an engine with the bug may read the names of `value` as these.
 */
export function misleadEngine(value: Json): void {
  JSON.parse(JSON.stringify(misleading(value)));
}

function misleading(value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(misleading);
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [JSON.stringify(name).slice(1, 1 + name.length), misleading(member)]),
  );
}

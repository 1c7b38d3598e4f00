// V8's fault with names that hold escapes (src/receipt/parse.ts), provoked.
import type { Json } from "../../src/receipt/canonical.ts";

/**
 * Has the engine read `value` with other names in place of those that are written with an escape: with what each begins
 * with in its written form. An engine with the fault may take the names of `value` for these from now on.
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

/** The names of all members, at any depth. */
export function namesOf(value: Json): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    Array.isArray(value) ? namesOf(member) : [name, ...namesOf(member)],
  );
}

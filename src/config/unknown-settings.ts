import type { Environment } from "./environment.ts";

/** Variables that the set-up, the tests and the benchmark read. */
const readElsewhere = ["STOA_SETUP", "STOA_TEST_DATABASE_URL", "STOA_BENCH_DATABASE_URL", "STOA_BENCH_DATA_DIR"];
/** The maximum number of typing errors in a misspelt setting. */
const maxErrors = 3;

/**
 * A warning for each variable that looks like a setting but is not, with the setting that was probably meant. It never
 * shows the value, which may be a secret.
 * @param known the names of all settings
 */
export function warnOfUnknownSettings(environment: Environment, known: readonly string[]): string[] {
  const ours = [...known, ...readElsewhere];
  return Object.entries(environment).flatMap(([name, value]) => {
    if (ours.includes(name) || !value) return [];
    const isNearly = /^stoa_/i.test(name);
    const meant = isNearly ? closest(name.toUpperCase(), ours) : unprefixed(name, environment, known);
    if (!isNearly && meant === undefined) return [];
    return `${name} is not a setting of Stoa and has no effect${meant === undefined ? "" : `; did you mean ${meant}?`}`;
  });
}

/** The setting that a name without STOA_ means (STOA_PORT for PORT); undefined if there is none or it is set too. */
function unprefixed(name: string, environment: Environment, known: readonly string[]): string | undefined {
  const setting = `STOA_${name}`;
  return known.includes(setting) && !environment[setting] ? setting : undefined;
}

function closest(name: string, candidates: readonly string[]): string | undefined {
  const ranked = candidates
    .map((candidate) => ({ candidate, errors: editDistance(name, candidate) }))
    .sort((one, other) => one.errors - other.errors);
  return ranked.find(({ errors }) => errors <= maxErrors)?.candidate;
}

/** How many characters must be added, removed or replaced to turn one text into the other (Levenshtein). */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let line = 1; line <= from.length; line++) {
    const next = [line];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (row[column - 1] as number) + (from[line - 1] === to[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] as number) + 1, (next[column - 1] as number) + 1));
    }
    row = next;
  }
  return row[to.length] as number;
}

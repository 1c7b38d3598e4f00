/** The most values of a list in one statement. */
export const maxListed = 1024;

const markers = "?, ".repeat(maxListed);

/**
 * Lists of values have sizes in powers of two, so that the statements are a closed set. The first value fills a list up.
 * @param values 1 to `maxListed`
 * @returns `?, ?` for IN (…), and as many values
 */
export function inList(values: readonly number[]): { places: string; list: number[] } {
  const [first] = values;
  if (first === undefined || values.length > maxListed) throw new Error(`A list cannot have ${values.length} values.`);
  const size = 2 ** Math.ceil(Math.log2(values.length));
  const list = [...values, ...Array<number>(size - values.length).fill(first)];
  return { places: markers.slice(0, 3 * size - 2), list };
}

/** Divides rows into parts whose sizes are powers of two, the largest first, at most `largest` (a power of two) in one. */
export function inPowersOfTwo<Row>(rows: readonly Row[], largest: number): Row[][] {
  const parts: Row[][] = [];
  let at = 0;
  for (let size = largest; size >= 1; size /= 2) {
    for (; rows.length - at >= size; at += size) parts.push(rows.slice(at, at + size));
  }
  return parts;
}

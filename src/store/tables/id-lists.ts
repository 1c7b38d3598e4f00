/** The most values of a list in one statement. */
export const maxListed = 1024;

const markers = "?, ".repeat(maxListed);
const powersOfTwo = Array.from({ length: Math.log2(maxListed) + 1 }, (_, exponent) => 2 ** exponent);

/**
 * Lists of values have few sizes, so that the statements are a closed set: each connection keeps all of them prepared. The
 * first value fills a list up.
 * @param values 1 to the largest size
 * @param sizes in their order, `maxListed` at most
 * @returns `?, ?` for IN (…), and as many values
 */
export function inList<Value>(
  values: readonly Value[],
  sizes: readonly number[] = powersOfTwo,
): { places: string; list: Value[] } {
  const [first] = values;
  const size = sizes.find((each) => each >= values.length);
  if (first === undefined || size === undefined) throw new Error(`A list cannot have ${values.length} values.`);
  const list = [...values, ...Array<Value>(size - values.length).fill(first)];
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

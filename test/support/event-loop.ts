/**
 * Counts turns of the event loop from now on.
 * @returns a function that ends the count and returns it
 */
export function countTurns(): () => number {
  let turns = 0;
  let next: NodeJS.Immediate;
  const count = () => {
    turns += 1;
    next = setImmediate(count);
  };
  next = setImmediate(count);
  return () => {
    clearImmediate(next);
    return turns;
  };
}

/**
 * What to XOR a byte with to get every other byte. Stryker runs the tests for each mutant, so it gets some of them: changes of
 * a single bit, and of several.
 */
export const byteChanges: readonly number[] =
  process.env.MUTANTS_TESTS === undefined
    ? Array.from({ length: 255 }, (_, index) => index + 1)
    : [1, 2, 4, 8, 16, 32, 64, 128, 3, 11, 21, 127, 255];

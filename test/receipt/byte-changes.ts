/** What to XOR a byte with to get some of the other bytes: changes of a single bit, and of several. */
export const byteChanges: readonly number[] = [1, 2, 4, 8, 16, 32, 64, 128, 3, 11, 21, 127, 255];

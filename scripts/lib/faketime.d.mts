/** The path of libfaketime for programs with threads, as Debian has it; or undefined. */
export function findFaketime(): string | undefined;

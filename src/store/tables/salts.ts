/** What hides a text in its commitment: 16 random bytes. Null for a text that is not in the log, or erased. */
export type Salt = Buffer | null;

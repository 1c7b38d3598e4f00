/** The comments of the contract, by the full names of what they are written on. */
export declare const comments: Readonly<Record<string, string>>;

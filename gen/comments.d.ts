/** The comments of the contract, by the full names of the commented elements. */
export declare const comments: Readonly<Record<string, string>>;

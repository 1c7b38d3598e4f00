/**
 * Stands for the name of an agent in the contract (stoa/v1/resources.proto): of the author of what was removed, and of an
 * agent that was erased. No agent can have this name, so it has no page.
 */
export const removedName = "[removed]";

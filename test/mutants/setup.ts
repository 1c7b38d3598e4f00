import fc from "fast-check";

// A mutant is noticed by the first failing example. To look for a smaller one takes minutes.
fc.configureGlobal({ endOnFailure: true });

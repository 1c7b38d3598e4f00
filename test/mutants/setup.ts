import fc from "fast-check";

fc.configureGlobal({
  // A mutant is noticed by the first failing example. To look for a smaller one takes minutes.
  endOnFailure: true,
  // Most mutants are noticed by the first hundred examples.
  interruptAfterTimeLimit: 500,
});

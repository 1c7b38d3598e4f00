import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** The tests that `npm run mutants` runs against each mutant, without a database. main.ts names them. */
export default defineConfig({
  test: {
    root: fileURLToPath(new URL("../..", import.meta.url)),
    include: process.env.MUTANTS_TESTS?.split(" ") ?? [],
    exclude: [
      // Its documents of millions of levels take seconds for each mutant, and notice none that the other tests do not.
      "test/receipt/depth.test.ts",
    ],
    setupFiles: ["test/mutants/setup.ts"],
    // Stryker has a limit of its own. On a busy machine, a slow test must not look like a failed one.
    testTimeout: 600_000,
  },
});

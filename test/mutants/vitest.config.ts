import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** The tests that `npm run mutants` runs against each mutant, without a database. main.ts names them. */
export default defineConfig({
  test: {
    root: fileURLToPath(new URL("../..", import.meta.url)),
    include: process.env.MUTANTS_TESTS?.split(" ") ?? [],
    // It compares FORMAT.md with the text of the source, which Stryker changes.
    exclude: ["test/receipt/format.test.ts"],
    setupFiles: ["test/mutants/setup.ts"],
    testTimeout: 60_000,
  },
});

import { configDefaults, defineConfig } from "vitest/config";

/** Attacks load the machine, and are measured: `npm run hostile` runs them one at a time. */
const attacks = "test/hostile/**";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: [...configDefaults.exclude, ...(process.env.STOA_TEST_ATTACKS === "1" ? [] : [attacks])],
    globalSetup: ["test/support/database-server.ts"],
    setupFiles: ["test/support/openapi/check-replies.ts"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
  },
});

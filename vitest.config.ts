import { configDefaults, defineConfig } from "vitest/config";

/** Attacks that fill the machine or its memory: `npm run hostile` runs them one at a time. */
const heavyAttacks = "test/hostile/{connections,pages,streams,unread-replies}.test.ts";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: [...configDefaults.exclude, ...(process.env.STOA_TEST_ATTACKS === "1" ? [] : [heavyAttacks])],
    globalSetup: ["test/support/scratch-folder.ts", "test/support/database-server.ts"],
    setupFiles: ["test/support/openapi/check-replies.ts"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
  },
});

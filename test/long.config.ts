// Vitest for the tests that have scripts of their own: test/faults, test/deploy and test/upgrade.
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    root: fileURLToPath(new URL("..", import.meta.url)),
    include: ["test/*/*.long.ts"],
    setupFiles: ["test/support/end-file.ts"],
    globalSetup: ["test/support/run-environment.ts", "test/support/database-server.ts"],
    testTimeout: 600_000,
    hookTimeout: 300_000,
    maxWorkers: 1,
  },
});

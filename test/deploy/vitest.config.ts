import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    root: fileURLToPath(new URL("../..", import.meta.url)),
    include: ["test/deploy/*.long.ts"],
    globalSetup: ["test/deploy/priority.ts", "test/support/run-environment.ts", "test/support/database-server.ts"],
    setupFiles: ["test/support/end-file.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 1,
  },
});

// Loaded before every test file (vitest.config.ts). Vitest never runs an `afterAll` that a running test or hook adds, so the
// one that ends what `afterFile` was given is added here. Files share a process, and thus the modules that they import.
import { afterAll, afterEach, beforeEach, vi } from "vitest";
import { endFile } from "./after-file.ts";
import { beginTest, endTest } from "./after-test.ts";

beforeEach(beginTest);
afterEach(endTest);
afterAll(async () => {
  // The next file of this process gets the real clock, functions and settings, whatever this one left.
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  await endFile();
});

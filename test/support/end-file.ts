// Loaded before every test file (vitest.config.ts). Vitest never runs an `afterAll` that a running test or hook adds, so the
// one that ends what `afterFile` was given is added here. Files share a process, and thus the modules that they import.
import { afterAll } from "vitest";
import { endFile } from "./after-file.ts";

afterAll(endFile);

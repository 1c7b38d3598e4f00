import type { TestSpecification } from "vitest/node";
import { BaseSequencer } from "vitest/node";

/** The slowest files, in the order in which they begin. The others follow. */
export const slowFiles = [
  "test/hammer/hammer.test.ts",
  "test/site/reader.test.ts",
  "test/private-database/server/private-server.test.ts",
  "test/process/privileges.test.ts",
  "test/ledger/reading/stream-ends.test.ts",
  "test/store/database/deadlines.test.ts",
  "test/app/main.test.ts",
  "test/http/streams/ends.test.ts",
  "test/store/database/full-disk.test.ts",
  "test/ledger/verification/parallel-verification.test.ts",
  "test/ledger/sealing/crashes.test.ts",
  "test/app/stop.test.ts",
  "test/ledger/reading/streaming.test.ts",
  "test/site/verification.test.ts",
  "test/rate-limits/pacing.test.ts",
  "test/cli/verify.test.ts",
  "test/package.test.ts",
  "test/idempotency/races.test.ts",
  "test/docs/operating.test.ts",
  "test/http/streams/caps.test.ts",
];

/** Begins with the slow files, so that no worker runs one alone at the end. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ moduleId }: TestSpecification) => {
      const index = slowFiles.findIndex((path) => moduleId.endsWith(`/${path}`));
      return index === -1 ? slowFiles.length : index;
    };
    return sorted.sort((a, b) => rank(a) - rank(b));
  }
}

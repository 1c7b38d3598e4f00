// npm run faults: runs every fault in turn and prints the table of faults. STOA_FAULTS=name,name runs some of
// them.
import { afterAll, describe, expect, it } from "vitest";
import { faults } from "./cases/index.ts";
import { type Result, runFault } from "./run.ts";
import { formatTable } from "./table.ts";

const only = process.env.STOA_FAULTS?.split(",");
const results: Result[] = [];

describe("npm run faults", () => {
  afterAll(() => {
    const skipped = faults.flatMap((fault) => {
      const why = fault.cannotRun?.();
      return why === undefined ? [] : [{ fault, why }];
    });
    process.stdout.write(`\n${formatTable(results, skipped)}\n`);
  });
  for (const fault of faults) {
    const isRun = (only?.includes(fault.name) ?? true) && fault.cannotRun?.() === undefined;
    it.skipIf(!isRun)(fault.name, async () => {
      const result = await runFault(fault);
      results.push(result);
      expect(result.wrong).toEqual([]);
    });
  }
});

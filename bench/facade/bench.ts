// The cost of the facade itself: a feed that all callers share beside a bare route with the same bytes, and single reads that
// nobody shares beside the hand-written routes.
import { openBoard } from "../board.ts";
import { type Case, createCases } from "../cases.ts";
import { startBaseline, startProgram, startService } from "../environment.ts";
import { checkFairness } from "../fairness.ts";
import { named } from "../ledger/bench.ts";
import { receiptCase } from "../ledger/receipt-case.ts";
import { ensureChain } from "../ledger/seed.ts";
import { type Measurement, measureAll } from "../measure.ts";
import { watch } from "../memory.ts";
import { choose } from "../options.ts";
import { handWritten, protocols } from "../protocols.ts";
import { type Report, reportComparison } from "../report.ts";
import type { Run } from "../run.ts";

/** The minimum throughput of a shared feed, as a share of the bare route's. */
const minOfBare = 0.4;
/** The minimum throughput of reads that nobody shares, as shares of the hand-written routes'. */
const minOfPost = 0.8;
const minOfReceipt = 0.65;

export async function benchFacade(run: Run): Promise<{ report: Report; text: string }> {
  const { options, log, signal, cleanUp } = run;
  const { address, admin, machine } = await openBoard(run);
  const chain = named(address, "ledger");
  await ensureChain({ address: chain, receipts: options.receipts, anew: options.reseed, log });

  const onBoard = await watch(startService(address, options, signal), cleanUp);
  const onChain = await watch(startService(chain, options, signal), cleanUp);
  const cases = createCases(options.population);
  const find = (name: string) => cases.find((each) => each.name === name) as Case;
  const feed = find("feed-hot");
  const [call] = feed.calls(0);
  const source = { BARE_SOURCE: onBoard.child.url, BARE_PATH: call?.rest.path as string };
  const bare = await watch(startProgram("facade/bare.ts", { ...options, profile: false }, signal, source), cleanUp);
  const byHand = await watch(startBaseline(address, signal), cleanUp);
  const receiptByHand = await watch(startBaseline(chain, signal, "ledger/hand-written.ts"), cleanUp);

  const all = [
    { each: feed, sides: { service: onBoard, baseline: bare }, reference: "bare", min: minOfBare },
    {
      each: find("post"),
      sides: { service: onBoard, baseline: byHand },
      reference: "hand-written",
      min: minOfPost,
    },
    {
      each: receiptCase(options.receipts),
      sides: { service: onChain, baseline: receiptByHand },
      reference: "hand-written",
      min: minOfReceipt,
    },
  ].map((comparison) => ({ ...comparison, name: comparison.each.name }));
  const measurements: Measurement[] = [];
  const missed: string[] = [];
  const notes: string[] = [];
  for (const { each, sides, reference, min } of choose("case", all, options.only)) {
    if (reference !== "bare") notes.push(...(await checkFairness([each], sides, admin)));
    const rest = protocols.filter(({ name }) => name === "rest");
    const found = await measureAll([each], rest, sides, run, { ...handWritten, name: reference });
    measurements.push(...found);
    const ratio = found.at(-1)?.ratio as number;
    if (!(ratio >= min)) missed.push(`${each.name} reaches ${ratio.toFixed(2)} of the ${reference} route, not ${min}`);
  }
  return reportComparison(
    { ...run, machine },
    { measurements, residentMiB: onBoard.memory.peak(), notes, missed },
    {
      ratio:
        "feed-hot: share of the throughput of a bare Fastify route that sends the same bytes; post and receipt, each of them\n" +
        "read at random: share of the hand-written routes'",
    },
  );
}

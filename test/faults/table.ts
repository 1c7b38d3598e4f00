import type { Fault } from "./fault.ts";
import type { Result } from "./run.ts";

const header = ["Fault", "What is done", "What a user sees", "Found after", "Back after"];

/** The results as a Markdown table. @param skipped the faults that cannot be run on this machine, with the reason */
export function formatTable(results: readonly Result[], skipped: readonly { fault: Fault; why: string }[]): string {
  const rows = [
    header,
    header.map(() => "---"),
    ...results.map(({ fault, wrong, acknowledged, backMs }) => [
      fault.name,
      fault.done,
      fault.seen,
      wrong.length === 0
        ? `${acknowledged} acknowledged writes: none lost, none doubled; counters exact; chain verifies`
        : `**wrong**: ${wrong.slice(0, 3).join("; ")}`,
      backMs < 1000 ? "under 1 s" : `${(backMs / 1000).toFixed(0)} s`,
    ]),
    ...skipped.map(({ fault, why }) => [fault.name, fault.done, fault.seen, `not run: ${why}`, ""]),
  ];
  return rows.map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`).join("\n");
}

import { createOperatorClient, createStoaClient, type OperatorClient, type StoaError } from "../../client/index.ts";
import { exitStatus } from "../command.ts";
import { UsageError } from "../usage.ts";
import type { ModerateArguments } from "./arguments.ts";
import { offerTexts } from "./community-texts.ts";
import type { Dialog } from "./dialog.ts";
import { listErasures, listRecord, listReports } from "./lists.ts";
import { perform } from "./perform.ts";
import { plan } from "./plan.ts";

/** How often a call is tried. Somebody waits. */
const tries = 4;

/**
 * Moderates a service as its operator.
 * @param token the operator token, if there is one
 * @returns the exit status
 * @throws UsageError; StoaError for a refusal or a failure
 */
export async function moderate(
  { url, act, yes }: ModerateArguments,
  token: string | undefined,
  dialog: Dialog,
  signal: AbortSignal,
): Promise<number> {
  const stoa = createStoaClient(url, { tries });
  if (act.act === "record") {
    await listRecord(stoa, act, dialog, signal);
    return exitStatus.done;
  }
  const operator = connect(url, token, dialog);
  if (act.act === "reports" || act.act === "erasures") {
    await (act.act === "reports"
      ? listReports(operator, stoa, dialog, signal)
      : listErasures(operator, dialog, signal));
    return exitStatus.done;
  }
  const planned = yes ? undefined : await plan(stoa, act, () => checkAsking(dialog));
  if (planned !== undefined) {
    for (const line of planned.shown) dialog.note(line);
    if (!(await dialog.ask(planned.question))) {
      dialog.note("nothing was done");
      return exitStatus.found;
    }
  }
  const { line, reply, complete, communities } = await perform(operator, act, signal);
  dialog.print(reply, line);
  await offerTexts(operator, communities ?? [], { asks: !yes, dialog, signal });
  if (complete) return exitStatus.done;
  dialog.note(
    act.act === "erase"
      ? "not everything is removed yet; the service continues. The act erasures lists what is not finished"
      : "not everything is removed; run the command again",
  );
  return exitStatus.found;
}

function connect(url: string, operatorToken: string | undefined, dialog: Dialog): OperatorClient {
  if (operatorToken === undefined || operatorToken === "") throw new UsageError("STOA_OPERATOR_TOKEN is not set");
  const onRetry = ({ message }: StoaError, waitMs: number) =>
    dialog.note(`${message}; another try in ${(waitMs / 1000).toFixed(1)} s`);
  try {
    return createOperatorClient(url, { operatorToken, tries, onRetry });
  } catch (error) {
    // The token cannot be a header.
    if (error instanceof TypeError) throw new UsageError("STOA_OPERATOR_TOKEN is not an operator token");
    throw error;
  }
}

function checkAsking({ canAsk }: Dialog): void {
  if (!canAsk) throw new UsageError("there is no terminal to ask on; add --yes if you are sure");
}

/** The exit status of a call that failed. */
export function statusOf(error: StoaError): number {
  if (error.code === "unauthorized") return exitStatus.unusable;
  return error.kind === "refused" ? exitStatus.found : exitStatus.failed;
}

// The lists of `stoa moderate` as tables of 80 columns, or as JSON.
import {
  type ModerationQuery,
  type OperatorClient,
  type Report,
  type StoaClient,
  StoaError,
} from "../../client/index.ts";
import { toRestJson } from "../../client/rest-json.ts";
import { firstLines, pad, shorten, terminalText } from "../terminal-text.ts";
import type { Dialog } from "./dialog.ts";
import { columns, timeText } from "./words.ts";

/** What a report is about. */
interface Reported {
  author: string;
  /** The first line of the text: the title of a post. */
  text: string;
}

/** Prints the open reports, oldest first. @throws StoaError */
export async function listReports(
  operator: OperatorClient,
  stoa: StoaClient,
  { print, say }: Dialog,
  signal: AbortSignal,
): Promise<void> {
  const known = new Map<string, Reported>();
  let printed = 0;
  for await (const report of operator.everyReport({ signal })) {
    const about = aboutOf(report);
    const reported = keptOf(report) ?? known.get(about) ?? (await readReported(stoa, report, signal));
    if (report.reportedText === undefined) {
      // Reports about one thing often follow each other; the map stays small however many there are.
      if (known.size >= 1_000) known.clear();
      known.set(about, reported);
    }
    if (printed++ === 0) say(row("REPORT", "ABOUT", "REASON", "AUTHOR"));
    print({ ...toRestJson(report), ...reported }, ...reportLines(report, reported));
  }
  if (printed === 0) say("there is no open report");
}

function aboutOf({ postId, commentId }: Report): string {
  return commentId === undefined ? `post ${postId}` : `comment ${commentId}`;
}

/** The text as it was reported, if its author has changed or deleted it since. */
function keptOf({ reportedText }: Report): Reported | undefined {
  if (reportedText === undefined) return undefined;
  const { author, title, body } = reportedText;
  return { author, text: title || firstLine(body) };
}

async function readReported(stoa: StoaClient, { postId, commentId }: Report, signal: AbortSignal): Promise<Reported> {
  try {
    if (commentId !== undefined) {
      const { comment } = await stoa.comments.getComment({ id: commentId }, { signal });
      return { author: comment?.author?.name ?? "", text: firstLine(comment?.body ?? "") };
    }
    const { post } = await stoa.posts.getPost({ id: postId }, { signal });
    return { author: post?.author?.name ?? "", text: firstLine(post?.title ?? "") };
  } catch (error) {
    if (error instanceof StoaError && error.code === "not_found") return { author: "", text: "" };
    throw error;
  }
}

const firstLine = (text: string) => text.split("\n").find((line) => line.trim() !== "") ?? "";

function row(report: string, about: string, reason: string, author: string): string {
  return shorten([pad(report, 8), pad(about, 17), pad(reason, 14), author].join(" "), columns).trimEnd();
}

function reportLines(report: Report, { author, text }: Reported): string[] {
  const { id, reason, community, createdAt, agent, note, reportedText } = report;
  const said = note === "" ? "" : `: ${note}`;
  const kept = reportedText && `changed or deleted by its author since; kept until ${timeText(reportedText.until)}`;
  const told = `in ${community}, reported ${timeText(createdAt)} by ${agent ?? "somebody"}${said}`;
  const lines = [text, ...(kept === undefined ? [] : [kept]), told];
  const below = lines.flatMap((line) => firstLines(line, 1, columns - 9)).map((line) => `${" ".repeat(9)}${line}`);
  return [row(`${id}`, aboutOf(report), reason ?? "", terminalText(author)), ...below];
}

/** Prints the erasures that are not finished. @throws StoaError */
export async function listErasures(
  { moderation }: OperatorClient,
  { print, say }: Dialog,
  signal: AbortSignal,
): Promise<void> {
  const { erasures } = await moderation.listErasures({}, { signal });
  for (const erasure of erasures) {
    const { agentId, beganAt, content } = erasure;
    const what = content ? "with its posts and comments" : "without its posts and comments";
    print(toRestJson(erasure), `agent ${agentId} in the record, ${what}, since ${timeText(beganAt)}`);
  }
  if (erasures.length === 0) say("every erasure is finished");
}

/** Prints the newest acts of the public record. @throws StoaError */
export async function listRecord(
  stoa: StoaClient,
  { query, limit }: { query: ModerationQuery; limit: number },
  { print, say }: Dialog,
  signal: AbortSignal,
): Promise<void> {
  let printed = 0;
  for await (const act of stoa.everyModeration({ ...query, signal })) {
    if (printed >= limit) break;
    if (printed++ === 0) say(recordRow("ID", "TIME (UTC)", "ROLE", "ACT", "ITEM", "REASON"));
    const item = `${act.item} ${act.itemId}`;
    const { id, createdAt, role, reason } = act;
    print(toRestJson(act), recordRow(`${id}`, timeText(createdAt), role, act.act, item, reason ?? ""));
  }
  if (printed === 0) say("there is no act");
}

function recordRow(id: string, time: string, role: string, act: string, item: string, reason: string): string {
  const cells = [pad(id, 7), pad(time, 16), pad(role, 9), pad(act, 11), pad(item, 18), reason];
  return shorten(cells.join(" "), columns).trimEnd();
}

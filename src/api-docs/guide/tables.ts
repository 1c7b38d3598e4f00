import { comments } from "../../../gen/comments.js";
import { Access, idempotent_by_key } from "../../../gen/stoa/v1/options_pb.js";
import type { Binding } from "../../contract/bindings.ts";
import { errorTexts } from "../../contract/error-texts.ts";
import { getOption } from "../../contract/options.ts";
import { rulesOf } from "../../contract/rules.ts";
import { type ErrorCode, errorStatus } from "../../errors.ts";
import { apiPrefix, type Contract } from "./contract.ts";
import { describeInputs, findCommonRules } from "./inputs.ts";

/**
 * A table of all REST calls, after the rules that several of them have in common. An asterisk marks those that take an
 * Idempotency-Key. A call on comments is in the row of the same call on posts.
 */
export function callTable({ calls, siteUrl }: Contract): string {
  const common = findCommonRules([...calls.values()].flatMap(([first]) => first ?? []));
  const rows = new Map<string, CallRow>();
  for (const [name, bindings] of calls) {
    const [first] = bindings as [Binding];
    const summary = firstSentence(comments[`${first.rpc.parent.typeName}.${first.rpc.name}`] ?? name);
    const row: CallRow = {
      method: first.httpMethod,
      paths: bindings.map(({ template }) => shorten(template, siteUrl)),
      marks: `${getOption(first.rpc, idempotent_by_key) ? " *" : ""}${describeAccess(first)}`,
      cells: [describeInputs(first, common), `${summary}${first.status === 200 ? "" : ` → ${first.status}`}`],
    };
    const subject = JSON.stringify(row).replaceAll("comment", "post");
    const twin = rows.get(subject);
    if (twin === undefined) rows.set(subject, row);
    else twin.paths.push(...row.paths);
  }
  const rules = [...common].map(([input, text]) => `- \`${input}\`: ${text}`);
  const lines = [...rows.values()].map(({ method, paths: [path, ...others], marks, cells }) => [
    `\`${method} ${path}\`${others.map((each) => `, \`${each}\``).join("")}${marks}`,
    ...cells,
  ]);
  return `${rules.join("\n")}\n\n${table(["call", "inputs", "what it does"], lines)}`;
}

interface CallRow {
  method: string;
  paths: string[];
  marks: string;
  cells: string[];
}

/** Marks the calls that differ from the rule: writes need the API key, and reads do not. */
function describeAccess({ rpc, httpMethod }: Binding): string {
  const isPublic = rulesOf(rpc).access === Access.PUBLIC;
  if (isPublic === (httpMethod === "GET")) return "";
  return isPublic ? " (no key)" : " (key)";
}

/** Leaves out the prefix that most paths have. Others become whole addresses. */
function shorten(template: string, siteUrl: string): string {
  const path = template.replace(/=[^}]*/g, "");
  return path.startsWith(`${apiPrefix}/`) ? path.slice(apiPrefix.length) : siteUrl + path;
}

/** Refusals before there is a request. Their statuses differ from those that their codes have elsewhere. */
const ofConnections = [
  ["408", "`bad_input`", "The request did not arrive in time.", "Repeat the call, and send it faster."],
  [
    "431",
    "`bad_input`",
    "The head of the request exceeds 16 KiB or 128 fields.",
    "Send shorter or fewer header fields.",
  ],
];

/** A table of all error codes, by status. */
export function errorTable(): string {
  const codes = Object.keys(errorStatus) as ErrorCode[];
  const rows = codes.map((code) => {
    const { meaning, remedy } = errorTexts[code];
    return [String(errorStatus[code]), `\`${code}\``, meaning, remedy];
  });
  const sorted = [...rows, ...ofConnections].sort(([a], [b]) => Number(a) - Number(b));
  return table(["status", "code", "meaning", "what to do"], sorted);
}

function firstSentence(text: string): string {
  return text.replaceAll("\n", " ").replace(/\. .*$/, ".");
}

/** A Markdown table. */
export function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

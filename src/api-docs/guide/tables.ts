import { getOption } from "@bufbuild/protobuf";
import { comments } from "../../../gen/comments.js";
import { Access, idempotent_by_key } from "../../../gen/stoa/v1/options_pb.js";
import { isServerStreaming } from "../../calls/stream-call.ts";
import { errorTexts } from "../../contract/error-texts.ts";
import { accessOf } from "../../contract/rules.ts";
import { type ErrorCode, errorStatus } from "../../errors.ts";
import type { Contract } from "./contract.ts";
import { describeInputs } from "./inputs.ts";

const callers: Record<Access, string> = {
  [Access.UNSPECIFIED]: "nobody",
  [Access.PUBLIC]: "anybody",
  [Access.AGENT]: "agent",
  [Access.OPERATOR]: "operator",
};

/** A table of all REST calls. An asterisk marks those that take an Idempotency-Key. */
export function callTable({ calls }: Contract): string {
  const rows = [...calls].map(([name, bindings]) => {
    const [first, ...others] = bindings as [(typeof bindings)[number], ...typeof bindings];
    const also = others.map(({ template }) => ` (also \`${template}\`)`).join("");
    const reply = isServerStreaming(first.rpc) ? "a stream" : String(first.status);
    return [
      `\`${first.httpMethod} ${first.template}\`${also}${getOption(first.rpc, idempotent_by_key) ? " *" : ""}`,
      callers[accessOf(first.rpc)],
      describeInputs(first),
      reply,
      firstSentence(comments[`${first.rpc.parent.typeName}.${first.rpc.name}`] ?? name),
    ];
  });
  return table(["call", "who", "inputs", "reply", ""], rows);
}

/** A table of all error codes. */
export function errorTable(): string {
  const codes = Object.keys(errorStatus) as ErrorCode[];
  return table(
    ["status", "code", "meaning", "what to do"],
    codes.map((code) => {
      const { meaning, remedy } = errorTexts[code];
      return [String(errorStatus[code]), `\`${code}\``, meaning, remedy];
    }),
  );
}

function firstSentence(text: string): string {
  return text.replaceAll("\n", " ").replace(/\. .*$/, ".");
}

/** A Markdown table. */
export function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

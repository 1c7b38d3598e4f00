import { expect, it } from "vitest";
import { HumanOutput } from "../../src/cli/output.ts";
import { parseJson } from "../../src/receipt/parse.ts";
import { buildChain, otherHash } from "../receipt/chain.ts";
import { recovered } from "../receipt/vectors/defect.ts";

it("a receipt is printed with its type if the type is known", () => {
  const printed: string[] = [];
  const terminal = { isTTY: false, write: (text: string) => printed.push(text) > 0 };
  const output = new HumanOutput(terminal, terminal);
  for (const { seq, hash, bytes } of buildChain(3, recovered(3, 9, otherHash))) {
    const document = parseJson(Buffer.from(bytes).toString()) as never;
    output.receipt({ link: { seq, hash }, document });
    output.receipt({
      link: { seq, hash },
      document: { ...(document as object), body: { type: "\u001b[2J" } } as never,
    });
  }
  const types = printed.join("").matchAll(/^receipt \d: \S+ (\S+) [0-9a-f]{64}$/gm);
  expect([...types].map(([, type]) => type)).toEqual(["genesis", "other", "session", "other", "recovery", "other"]);
});

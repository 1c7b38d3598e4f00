// What the operator sees and is asked before an act that does harm if it is a mistake.
import type { StoaClient, Words } from "../../client/index.ts";
import { terminalText } from "../terminal-text.ts";
import type { Act, Keeping, Why } from "./arguments.ts";
import { previewAgent, previewItem } from "./preview.ts";

interface Plan {
  shown: string[];
  question: string;
}

const erasedAtOnce: Words<"ModerationReason">[] = ["illegal", "personal_data", "secret"];

/**
 * Shows what an act concerns.
 * @param checkAsking throws if nobody can be asked; it is called before the service is
 * @returns undefined for an act that can be done without asking
 * @throws StoaError
 */
export async function plan(stoa: StoaClient, act: Act, checkAsking: () => void): Promise<Plan | undefined> {
  const question = questionOf(act);
  if (question === undefined) return undefined;
  checkAsking();
  const shown = "item" in act ? await previewItem(stoa, act.item) : await previewAgent(stoa, nameOf(act));
  return { shown, question };
}

function nameOf(act: Act): string {
  return "name" in act ? act.name : "";
}

/** The question before an act; undefined for acts that are done without asking. */
function questionOf(act: Act): string | undefined {
  const name = terminalText(nameOf(act));
  switch (act.act) {
    case "remove":
      return `Remove this? ${fateOf(act, "Its text")}`;
    case "remove-content":
      return `Remove all posts and comments of ${name}? ${fateOf(act, "Their text")}`;
    case "suspend":
      return `Suspend ${name} ${act.until === undefined ? "without an end" : `until ${act.until.toISOString()}`}?`;
    case "revoke-keys":
      return `Revoke all API keys of ${name}? It cannot get another.`;
    case "erase":
      return `Erase ${name}${act.content ? " with all its posts and comments" : ""}? This cannot be undone.`;
    default:
      return undefined;
  }
}

function fateOf({ reason, keepForDays }: Why & Keeping, text: string) {
  if (keepForDays === undefined || keepForDays === 0 || erasedAtOnce.includes(reason))
    return `${text} is erased at once.`;
  return `${text} is kept for ${keepForDays} ${keepForDays === 1 ? "day" : "days"}.`;
}

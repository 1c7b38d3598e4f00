import type { Community, OperatorClient } from "../../client/index.ts";
import { terminalText } from "../terminal-text.ts";
import type { Dialog } from "./dialog.ts";

/**
 * Shows the texts of the communities that an erased agent created. For each it asks whether to replace the title by the name
 * and to empty the description. If it must not ask, it says which command does that.
 */
export async function offerTexts(
  { moderation }: OperatorClient,
  communities: readonly Community[],
  { asks, dialog, signal }: { asks: boolean; dialog: Dialog; signal: AbortSignal },
): Promise<void> {
  for (const { name, title, description } of communities) {
    if (title === name && description === "") continue;
    dialog.note(`community ${name}, which the agent created: ${terminalText(title)}: ${terminalText(description)}`);
    if (!asks) {
      dialog.note(`  to replace these texts: community ${name} --title ${name} --description ""`);
    } else if (await dialog.ask(`Make its title ${name}, and its description empty?`)) {
      await moderation.updateCommunity({ name, title: name, description: "" }, { signal });
      dialog.say(`changed community ${name}`);
    }
  }
}

import { findHolders } from "../board/agents.ts";
import type { Board } from "../board/board.ts";
import { revokeShownKeys } from "../board/moderation/agents.ts";
import type { RefuseKeys } from "../calls/service-table.ts";
import { badInput } from "../errors.ts";
import { shownKey } from "./api-keys.ts";

/**
 * Makes the check of keys in texts. A key that works is revoked, because somebody else has it: whoever has seen the text could
 * write in the name of the key's agent. The agent is told in its inbox. Keys that nobody has are ordinary words.
 */
export function createKeyRefusal(board: Board): RefuseKeys {
  return async (found, signal) => {
    const fields = new Map(found.map(({ field, key }) => [shownKey(key).hash, field]));
    const holders = await findHolders(board.readForWrite(signal), [...fields.keys()], board.now());
    const working = [...holders]
      .filter(([, { standing }]) => standing !== "past")
      .toSorted(([, a], [, b]) => a.agent.id - b.agent.id);
    const [first] = working;
    if (first === undefined) return;
    await board.write(signal, async (unit) => {
      const keys = working.map(([hash, { agent }]) => ({ agentId: agent.id, hash: Buffer.from(hash, "base64") }));
      await revokeShownKeys(unit, keys);
    });
    const field = fields.get(first[0]) as string;
    throw badInput(
      field,
      `${field} holds an API key of this board that worked. It is revoked now: it was no secret any more.`,
    );
  };
}

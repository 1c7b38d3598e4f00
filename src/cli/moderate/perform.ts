import type { Community, OperatorClient } from "../../client/index.ts";
import { toRestJson } from "../../client/rest-json.ts";
import { terminalText } from "../terminal-text.ts";
import type { Act, Item } from "./arguments.ts";
import { count } from "./words.ts";

/** What was done. */
interface Done {
  /** One line for people. */
  line: string;
  /** The reply of the service as the REST API would write it. */
  reply: object;
  /** Whether all of it was done. */
  complete: boolean;
  /** The communities whose texts are left of an agent that was erased with its content. */
  communities?: Community[];
}

/** Does an act. @throws StoaError */
export async function perform(
  { moderation }: OperatorClient,
  act: Exclude<Act, { act: "reports" | "record" | "erasures" }>,
  signal: AbortSignal,
): Promise<Done> {
  const options = { signal };
  switch (act.act) {
    case "remove": {
      const { item, reason, note } = act;
      const reply = await moderation.remove({ ...item, reason, note, keepForDays: act.keepForDays }, options);
      return done(`removed ${nameOf(item)}`, reply);
    }
    case "restore": {
      const reply = await moderation.restore(act.item, options);
      return done(`restored ${nameOf(act.item)}`, reply);
    }
    case "lock":
    case "unlock": {
      const reply = await moderation[act.act]({ postId: act.postId }, options);
      return done(`${act.act}ed post ${act.postId}`, reply);
    }
    case "suspend": {
      const { name, reason, note, until } = act;
      const reply = await moderation.suspendAgent({ name, reason, note, until }, options);
      const time = until === undefined ? "without an end" : `until ${until.toISOString()}`;
      return done(`suspended ${inRecord(name, reply)} ${time}`, reply);
    }
    case "unsuspend": {
      const reply = await moderation.unsuspendAgent({ name: act.name }, options);
      return done(`unsuspended ${inRecord(act.name, reply)}`, reply);
    }
    case "revoke-keys": {
      const { name, reason, note } = act;
      const reply = await moderation.revokeKeys({ name, reason, note }, options);
      return done(`revoked the API keys of ${inRecord(name, reply)}`, reply);
    }
    case "remove-content": {
      const { name, reason, note } = act;
      const reply = await moderation.removeAgentContent({ name, reason, note, keepForDays: act.keepForDays }, options);
      const line = `removed ${counts(reply)} of ${terminalText(name)}`;
      return { ...done(line, reply), complete: reply.complete };
    }
    case "erase": {
      const { name, reason, note, content } = act;
      const reply = await moderation.eraseAgent({ name, reason, note, content }, options);
      const line = `erased ${inRecord(name, reply)}${content ? `, and ${counts(reply)}` : ""}`;
      const { complete, communities } = reply;
      return { ...done(line, reply), complete, communities };
    }
    case "community": {
      const { name, title, description, appoint, dismiss } = act;
      const reply = await moderation.updateCommunity({ name, title, description, appoint, dismiss }, options);
      return done(`changed community ${terminalText(name)}`, reply);
    }
    case "resolve": {
      const reply = await moderation.resolveReport({ id: act.id }, options);
      return done(`resolved report ${act.id}`, reply);
    }
  }
}

const done = (line: string, reply: object): Done => ({ line, reply: toRestJson(reply), complete: true });

function nameOf(item: Item): string {
  return "postId" in item ? `post ${item.postId}` : `comment ${item.commentId}`;
}

/** The public record names agents by number only. */
function inRecord(name: string, { agentId }: { agentId: number }): string {
  return `${terminalText(name)} (agent ${agentId} in the record)`;
}

function counts({ posts, comments }: { posts: number; comments: number }): string {
  return `${count(posts, "post")} and ${count(comments, "comment")}`;
}

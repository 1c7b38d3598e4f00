import type { Finding, TableCheck } from "../../store/recount/finding.ts";
import { actCheck, answerCheck, findNotedAct } from "../../store/recount/missing-items.ts";
import { searchedCheck, searchRowCheck } from "../../store/recount/search-rows.ts";
import { tableChecks } from "../../store/recount/tables.ts";
import { lockComment } from "../../store/tables/comments.ts";
import { lockPost } from "../../store/tables/posts.ts";
import type { Unit } from "../board.ts";
import { noteMissing, putActItem } from "../inbox/changes.ts";
import { rebuildInSearch, type Searched } from "../search/index-items.ts";
import { mentionCheck } from "./mentions.ts";
import { tokenCheck } from "./tokens.ts";

/** A check, and how its findings are repaired if that takes more than setting a value of the row. */
export interface Check extends TableCheck {
  /** @returns whether the finding is repaired */
  mend?(unit: Unit, key: Finding["key"]): Promise<boolean>;
}

const searched: readonly Searched[] = ["communities", "posts", "comments", "agents"];
const inSearch =
  (type: Searched) =>
  async ({ tx }: Unit, { id }: Finding["key"]): Promise<boolean> => {
    await rebuildInSearch(tx, type, Number(id));
    return true;
  };

/** All checks of the board, in the order in which they run. */
export const checks: readonly Check[] = [
  ...tableChecks,
  { ...answerCheck, mend: noteComment },
  { ...mentionCheck("comments"), mend: noteComment },
  { ...mentionCheck("posts"), mend: notePost },
  { ...actCheck, mend: noteAct },
  ...searched.flatMap((type) =>
    [searchedCheck(type), searchRowCheck(type), tokenCheck(type)].map((check) => ({ ...check, mend: inSearch(type) })),
  ),
];

async function notePost(unit: Unit, key: Finding["key"]): Promise<boolean> {
  const id = Number(key.id);
  const post = await lockPost(unit.tx, id);
  if (post !== undefined) await noteMissing(unit, { postId: id, commentId: null, authorId: post.author_id });
  return true;
}

async function noteComment(unit: Unit, key: Finding["key"]): Promise<boolean> {
  const id = Number(key.id);
  const comment = await lockComment(unit.tx, id);
  if (comment === undefined) return true;
  return noteMissing(unit, { postId: comment.post_id, commentId: id, authorId: comment.author_id });
}

async function noteAct(unit: Unit, { id, agent_id }: Finding["key"]): Promise<boolean> {
  const act = await findNotedAct(unit.tx, Number(id));
  if (act === undefined) return false;
  await putActItem(unit, Number(agent_id), act);
  return true;
}

import type { Tx } from "../../store/database/queryable.ts";
import {
  deleteTokens,
  insertTokens,
  insertTokensOfNew,
  lockStale,
  readText,
  type Scope,
  type Searched,
  type SearchText,
} from "../../store/tables/search-index.ts";
import { tokensOf } from "./tokens.ts";

export type { Searched } from "../../store/tables/search-index.ts";

/*
 * Search finds what is written here, in the unit of work that changes the item. The caller has locked the item.
 */

/** The texts of a community. */
export function textOfCommunity({ name, title, description }: Record<"name" | "title" | "description", string>) {
  return { title: `${name} ${title}`, body: description };
}

/** A word in the title counts as much as this many in the body. */
const titleWeight = 3;

/** Makes a new post or comment findable. */
export async function addWordsToSearch(
  tx: Tx,
  type: "posts" | "comments",
  id: number,
  { title, body, ...scope }: SearchText & Scope,
): Promise<void> {
  await insertTokensOfNew(tx, type, id, scope, tokensOfText({ title, body }));
}

/** Makes a new community or agent findable. */
export async function addToSearch(tx: Tx, type: "communities" | "agents", id: number, text: SearchText): Promise<void> {
  await insertTokens(tx, type, id, tokensOfText(text));
}

/** Makes the new texts of an item findable in place of the old ones. */
export async function updateInSearch(tx: Tx, type: Searched, id: number, text: SearchText): Promise<void> {
  await deleteTokens(tx, type, id);
  await insertTokens(tx, type, id, tokensOfText(text));
}

/** Makes an item that stands again findable. */
export async function restoreInSearch(tx: Tx, type: Searched, id: number): Promise<void> {
  const text = await readText(tx, type, id);
  if (text !== undefined) await updateInSearch(tx, type, id, text);
}

/** Makes an item unfindable. */
export async function removeFromSearch(tx: Tx, type: Searched, id: number): Promise<void> {
  await deleteTokens(tx, type, id);
}

/** Makes what is stored for an item agree with it. It locks the item. @returns whether something was wrong */
export async function repairInSearch(tx: Tx, type: Searched, id: number): Promise<boolean> {
  const { text, isStale } = await lockStale(tx, type, id);
  if (!isStale) return false;
  if (text === undefined) await deleteTokens(tx, type, id);
  else await updateInSearch(tx, type, id, text);
  return true;
}

/** Makes the tokens of an item again, whatever is stored. It locks the item. */
export async function rebuildInSearch(tx: Tx, type: Searched, id: number): Promise<void> {
  const { text } = await lockStale(tx, type, id);
  if (text === undefined) await deleteTokens(tx, type, id);
  else await updateInSearch(tx, type, id, text);
}

/** The tokens of an item. */
export function tokensOfText({ title, body }: SearchText): string {
  return tokensOf(`${`${title}\n`.repeat(title === "" ? 0 : titleWeight)}${body}`);
}

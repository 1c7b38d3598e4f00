import type { DescEnum } from "@bufbuild/protobuf";
import {
  type ModerationAct,
  ModerationActSchema,
  type ModerationItem,
  ModerationItemSchema,
  type ModerationReason,
  ModerationReasonSchema,
  type ModerationRole,
  ModerationRoleSchema,
} from "../../gen/stoa/v1/moderation_pb.js";
import type * as board from "../board/moderation/words.ts";
import { StoredDamage } from "../errors.ts";

/** An enum of the contract, and the words that the board and the database have for its values. */
interface Words<Value extends number, Word extends string> {
  word(value: Value): Word;
  /** The same for an optional field. */
  optional(value: Value | undefined): Word | undefined;
  /** @throws StoredDamage for a word that the contract does not have */
  value(word: string): Value;
}

export const reasons = wordsOf<ModerationReason, board.ModerationReason>(ModerationReasonSchema);
export const roles = wordsOf<ModerationRole, board.ModerationRole>(ModerationRoleSchema);
export const acts = wordsOf<ModerationAct, board.ModerationAct>(ModerationActSchema);
export const items = wordsOf<ModerationItem, board.ModerationItem>(ModerationItemSchema);

/** The words of an enum: the names of its values in lower case, without their prefix. */
export function wordsOf<Value extends number, Word extends string>(schema: DescEnum): Words<Value, Word> {
  const words = new Map(schema.values.map(({ number, localName }) => [number, localName.toLowerCase()]));
  const values = new Map([...words].map(([number, word]) => [word, number]));
  const word = (value: Value) => words.get(value) as Word;
  return {
    word,
    optional: (value) => (value === undefined ? undefined : word(value)),
    value(text) {
      const value = values.get(text);
      if (value === undefined) throw new StoredDamage("A stored word is damaged; the operator can restore it.");
      return value as Value;
    },
  };
}

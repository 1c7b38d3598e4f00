import type { DescMessage, Message } from "@bufbuild/protobuf";
import { findViolation } from "../contract/field-rules.ts";

/** @throws StoaError `bad_input` where a message breaks a rule of its fields */
export function checkRules(desc: DescMessage, message: Message): void {
  const violation = findViolation(desc, message);
  if (violation !== undefined) throw violation;
}

/** A message that follows the rules of its fields. It cannot change any more, so several calls may have the same one. */
export class Checked {
  readonly message: Message;

  /** @throws StoaError `bad_input` */
  constructor(desc: DescMessage, message: Message) {
    checkRules(desc, message);
    this.message = Object.freeze(message);
  }
}

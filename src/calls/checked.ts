import type { DescMessage, Message } from "@bufbuild/protobuf";
import { checkRules } from "../contract/field-rules.ts";

/** A message that follows the rules of its fields. It cannot change any more, so several calls may have the same one. */
export class Checked {
  readonly message: Message;

  /** @throws StoaError `bad_input` */
  constructor(desc: DescMessage, message: Message) {
    checkRules(desc, message);
    this.message = Object.freeze(message);
  }
}

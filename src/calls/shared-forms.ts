import type { DescMethod, Message } from "@bufbuild/protobuf";
import { LRUCache } from "lru-cache";
import { createEquality } from "../contract/equality.ts";
import { createTextLength } from "../contract/text-length.ts";

/** What has been made of a shared response, such as its JSON. Each form is made once. */
export class SharedForms {
  readonly #forms = new Map<unknown, unknown>();

  /** The form of this name. The first request that needs it makes it; if that fails, the next one does. */
  get<T>(name: unknown, make: () => T): T {
    if (this.#forms.has(name)) return this.#forms.get(name) as T;
    const form = make();
    this.#forms.set(name, form);
    if (form instanceof Promise) form.catch(() => this.#forms.delete(name));
    return form;
  }
}

/** How many responses are remembered, over all RPCs. */
const capacity = 32;
/** Responses with more text in their lists are not remembered, in UTF-16 code units. */
const maxTextLength = 32 * 1024;

interface Latest {
  message: Message;
  forms: SharedForms;
}

/**
 * What has been made of a response, or of the equal one from before.
 * @param key the same for identical requests
 * @param isShared whether several callers share the response, which is then remembered
 * @returns undefined where nobody shares it, and nothing is remembered
 */
export type FormsOf = (key: string, message: Message, isShared: boolean) => SharedForms | undefined;

/**
 * The latest responses of reads that several callers have shared. Most reads of a feed find what the read before has found.
 * Such a response is the same to its callers: its JSON, its tag and its compressed bytes need not be made again. Each read
 * still goes to the database, so nobody gets an old response.
 */
export class LatestResponses {
  readonly #latest = new LRUCache<string, Latest>({ max: capacity });

  /** The latest responses of one RPC. */
  of({ parent, name, output }: DescMethod): FormsOf {
    const areEqual = createEquality(output);
    const textLength = createTextLength(output) ?? (() => 0);
    return (key, message, isShared) => {
      const place = `${parent.typeName}.${name} ${key}`;
      const before = this.#latest.get(place);
      if (before === undefined && !isShared) return undefined;
      const made = { message, forms: new SharedForms() };
      if (areEqual === undefined || textLength(message) > maxTextLength) return made.forms;
      if (before !== undefined && areEqual(before.message, message)) return before.forms;
      this.#latest.set(place, made);
      return made.forms;
    };
  }
}

import type { Message } from "@bufbuild/protobuf";
import type { CallInit } from "../../calls/call.ts";
import { Checked } from "../../calls/checked.ts";
import { type Binding, isTaggedRead } from "../../contract/bindings.ts";
import type { Captured } from "../../contract/path-template.ts";
import { type ReadRequest, splitTarget } from "../../transcoding/index.ts";
import type { Admit } from "../admission/admission.ts";
import type { HttpReply } from "../replies/reply.ts";
import type { RequestContext } from "../requests/context.ts";

/** A request as it was read, with a message that may be known to follow its rules. */
export type CheckedRead = Omit<ReadRequest, "message"> & { message: Message | Checked };

/** Makes a call, and its reply; undefined where it has sent the reply itself, as a stream does. @throws ConnectError */
export type AnswerCall = (context: RequestContext, read: CheckedRead, init: CallInit) => Promise<HttpReply | undefined>;

/** A binding and what answers its calls. */
export interface Endpoint {
  readonly binding: Binding;
  readonly admit: Admit;
  /** The header fields of all its replies, also of failures. */
  readonly fields: Readonly<Record<string, string>>;
  readonly answer: AnswerCall;
}

/** What the address of a request says: its endpoint, the parts of the address and, once it has been read, its message. */
interface Address {
  readonly endpoint: Endpoint;
  readonly captured: Captured[];
  readonly query: string;
  readonly read?: CheckedRead;
}

/** How many addresses of a route are remembered. */
const capacity = 64;
/** Longer addresses are not remembered, in characters. */
const maxLength = 512;

/** The addresses of one route and method. The endpoints there differ in their verbs. */
export class Addresses {
  readonly #endpoints: readonly Endpoint[];
  /** Addresses of public reads that were asked for, the oldest first. */
  readonly #known = new Map<string, Address>();

  constructor(endpoints: readonly Endpoint[]) {
    this.#endpoints = endpoints;
  }

  /** @returns undefined where no endpoint has the verb of the address */
  find(url: string): Address | undefined {
    const known = this.#known.get(url);
    if (known !== undefined) return known;
    const { path, query } = splitTarget(url);
    for (const endpoint of this.#endpoints) {
      const { path: template } = endpoint.binding;
      const captured = template.isFixed ? [] : template.match(path);
      if (captured !== undefined) return { endpoint, captured, query };
    }
    return undefined;
  }

  /** Keeps what an address says, so that it is read and checked once: most callers ask for the same addresses again. */
  remember(url: string, address: Address, { message, warnings }: CheckedRead): void {
    const { binding } = address.endpoint;
    if (message instanceof Checked || url.length > maxLength || !isTaggedRead(binding)) return;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined && this.#known.size >= capacity) this.#known.delete(oldest);
    this.#known.set(url, { ...address, read: { warnings, message: new Checked(binding.rpc.input, message) } });
  }
}

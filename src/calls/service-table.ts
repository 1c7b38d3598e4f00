import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import type { KeyInText } from "../contract/field-rules.ts";
import type { StoaError } from "../errors.ts";
import type { Admitted } from "./call.ts";

/** The chain that the calls of an RPC run through, whatever their protocol; the first interceptor is the outermost. */
export type InterceptorsOf = (rpc: DescMethod) => Interceptor[];

/** The methods of a service by their local names, as Connect's router takes them. */
export type Implementation = Readonly<Record<string, unknown>>;

/** An API key that a request shows: well-formed, whether or not it was ever issued. */
export type ShownKey = object;

/** The agent that an API key belongs to. A past key is not good, but one call may still accept it. */
export interface KeyHolder {
  agent: { id: number };
  standing: "current" | "grace" | "past";
}

/** A call that shows an API key. */
export interface ShowingCall {
  rpc: DescMethod;
  signal: AbortSignal;
}

/** What a request shows to say who calls. */
export interface ShownCredentials {
  /** The value of its Authorization header. */
  authorization: string | null;
  /** The value of X-API-Key. Other services read it; here, the refusal says that it is not read. */
  otherKey: string | null;
  idempotencyKey: string | null;
}

/** What is known of API keys; services/api-keys.ts says more. */
export interface Keys {
  shown(authorization: string): ShownKey | undefined;
  agentOf(key: ShownKey): number | undefined;
  findUnknown(key: ShownKey, mayBeRemembered: boolean, call?: ShowingCall): Promise<KeyHolder | undefined>;
  find(key: ShownKey, call: ShowingCall): Promise<KeyHolder | undefined>;
  refusalOfStreams(key: ShownKey, agent: number): Promise<StoaError | undefined>;
}

/** Refuses a request whose texts hold API keys that work, and revokes them. @throws StoaError `bad_input` */
export type RefuseKeys = (keys: readonly KeyInText[], signal: AbortSignal) => Promise<void>;

/** What the transport needs to know of the services; `createServiceTable` makes it. */
export interface ServiceTable {
  services: { service: DescService; implementation: Implementation }[];
  /** The reads whose callers share runs in a way of their own. */
  readonly sharing: readonly DescMethod[];
  /**
   * The reads that may take seconds, and which of their requests do. These take turns among themselves, so that no other read
   * waits for them.
   */
  readonly slow: ReadonlyMap<DescMethod, (request: Message) => boolean>;
  readonly keys: Keys;
  readonly refuseKeys: RefuseKeys;
  /**
   * Finds out who calls; never called for public operations.
   * @param holder the holder of the key that the request shows, as far as `keys` has found one
   * @throws StoaError `unauthorized`
   */
  authenticate(
    rpc: DescMethod,
    holder: KeyHolder | undefined,
    shown: ShownCredentials,
    signal: AbortSignal,
  ): Promise<Admitted["caller"]>;
  /**
   * Finds out whether a request may register an agent.
   * @param token what the request shows as the registration token
   * @throws StoaError `unauthorized`, `forbidden`
   */
  checkRegistration(token: string | null): void;
  /** Starts the time limit of a call that has to wait before it is made. @returns the time in milliseconds */
  beginCall(signal: AbortSignal): number;
}

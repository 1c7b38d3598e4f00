import type { Load } from "../hammer/load.ts";
import type { Stage } from "./stage.ts";

/** The statuses that each kind of request may get while the fault lasts. 0 means that there was no reply. */
export interface Seen {
  read: number[];
  write: number[];
  ready: number[];
}

/** One fault: how it is caused, and what users must see. Its texts are a row of the table of faults. */
export interface Fault {
  name: string;
  /** What is done to the service. */
  done: string;
  /** What a user sees during the fault and after it. */
  seen: string;
  /** The part of this that the runner checks. */
  during: Seen;
  /** Why the fault cannot be run on this machine. Undefined if it can. */
  cannotRun?(): string | undefined;
  /** Starts the service that suffers the fault; by default one on a private database. */
  open?(stage: Stage): Promise<void>;
  /** Causes the fault under load and waits until it has lasted long enough. @returns what went wrong */
  harm(stage: Stage, load: Load): Promise<string[]>;
  /** Ends the fault. The time until the service is back is measured from here. */
  mend?(stage: Stage): Promise<void>;
}

/** The statuses while nothing is wrong. The probe writes to a post that does not exist. */
export const fine: Seen = { read: [200], write: [404], ready: [200] };

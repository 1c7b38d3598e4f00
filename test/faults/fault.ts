import type { Load } from "./load.ts";
import type { Stage } from "./stage.ts";

/** The statuses that a kind of request may get while the fault lasts; 0 means that there was no reply. */
export interface Seen {
  read: number[];
  write: number[];
  ready: number[];
}

/** One fault: how it is made, and what must be seen of it. Its texts are a row of the table in docs/operating.md. */
export interface Fault {
  name: string;
  /** What is done to the service. */
  done: string;
  /** What a user sees while it lasts, and after. */
  seen: string;
  /** What the runner checks of that. */
  during: Seen;
  /** Why it cannot be run on this machine; undefined where it can. */
  cannotRun?(): string | undefined;
  /** Starts the service that is harmed. */
  open(): Promise<Stage>;
  /** Makes the fault under load and waits as long as it is to last. @returns what was not as it should be */
  harm(stage: Stage, load: Load): Promise<string[]>;
  /** Ends the fault; the time until the service is back counts from here. */
  mend(stage: Stage): Promise<void>;
}

/** What is seen while nothing is wrong: the probe writes to a post that nobody has. */
export const fine: Seen = { read: [200], write: [404], ready: [200] };

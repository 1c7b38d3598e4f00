import type { Health, HostAddress, Hosts } from "./hosts.ts";
import { isInGroup, type MemberRow, membersQuery } from "./node-state.ts";
import { Session, type SessionOptions } from "./session.ts";

/** How often each server is asked for its state, in milliseconds. */
const lookMs = 500;
/** How long a server may take to answer, in milliseconds. A frozen server takes for ever. */
const answerMs = 1_500;

export interface MonitorOptions extends Pick<SessionOptions, "statementTimeoutMs"> {
  hosts: Hosts;
  /** Called when another server is used from now on. @param isGone whether the one before does not answer any more */
  onSwitch(before: HostAddress, isGone: boolean): void;
}

/**
 * Asks every server of an address for its state, twice a second, each on a connection of its own, and tells `Hosts`. A
 * single server is not watched.
 */
export class HostMonitor {
  readonly #options: MonitorOptions;
  readonly #probes: Probe[];

  constructor(options: MonitorOptions) {
    this.#options = options;
    const { hosts, statementTimeoutMs } = options;
    this.#probes = hosts.areMany
      ? hosts.addresses.map(
          (address) =>
            new Probe({ address: unsynced(address), statementTimeoutMs }, (health) => this.#on(address, health)),
        )
      : [];
  }

  /** Starts watching, at the first call. */
  start(): void {
    for (const probe of this.#probes) probe.start();
  }

  /** A connection has failed, or was refused: looks now. */
  lookNow(): void {
    for (const probe of this.#probes) void probe.look();
  }

  stop(): void {
    for (const probe of this.#probes) probe.stop();
  }

  #on(address: HostAddress, health: Health): void {
    const { hosts, onSwitch } = this.#options;
    const before = hosts.current;
    const isSwitched = hosts.record(address, health, performance.now());
    if (isSwitched) onSwitch(before, hosts.isDown(before));
  }
}

/**
 * A look at a server must not wait, as a read does, until that server has what the others have acknowledged: it would take one
 * for dead that is only busy with a long change of a table, or with what the primary before it has left.
 */
function unsynced(address: HostAddress): HostAddress {
  return { ...address, syncReads: false };
}

/** The watch of one server. */
class Probe {
  readonly #options: SessionOptions;
  readonly #onHealth: (health: Health) => void;
  #session: Session | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStarted = false;
  #isLooking = false;
  #isStopped = false;
  #maySeeGroup = true;

  constructor(options: SessionOptions, onHealth: (health: Health) => void) {
    this.#options = options;
    this.#onHealth = onHealth;
  }

  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    void this.look();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#session?.destroy(new Error("The service is stopping."));
  }

  /** Looks once, unless a look is running, and again after a while. */
  async look(): Promise<void> {
    if (this.#isLooking || this.#isStopped) return;
    this.#isLooking = true;
    clearTimeout(this.#timer);
    const health = await this.#health();
    this.#isLooking = false;
    if (this.#isStopped) return;
    this.#onHealth(health);
    this.#timer = setTimeout(() => void this.look(), lookMs).unref();
  }

  async #health(): Promise<Health> {
    const timer = setTimeout(() => this.#drop("The server does not answer."), answerMs);
    try {
      this.#session ??= this.#open();
      const session = this.#session;
      if (session.state === "opening") {
        await session.setUp(this.#options);
        session.state = "leased";
      } else await session.lookAtNode();
      if (!session.node.isWritable) return "readable";
      return (await this.#isInGroup(session)) ? "writable" : "down";
    } catch {
      this.#drop("The server has failed.");
      return "down";
    } finally {
      clearTimeout(timer);
    }
  }

  #open(): Session {
    const session: Session = new Session(this.#options, () => {
      if (this.#session !== session) return;
      this.#session = undefined;
      // A server that dies closes its connections.
      if (!this.#isLooking) void this.look();
    });
    return session;
  }

  #drop(reason: string): void {
    const session = this.#session;
    this.#session = undefined;
    session?.destroy(new Error(reason));
  }

  async #isInGroup(session: Session): Promise<boolean> {
    if (session.node.engine !== "group" || !this.#maySeeGroup) return true;
    try {
      return isInGroup(await session.execute<MemberRow[]>(membersQuery));
    } catch (error) {
      // The account has no right to read this table.
      if ((error as { errno?: number }).errno !== 1142) throw error;
      this.#maySeeGroup = false;
      return true;
    }
  }
}

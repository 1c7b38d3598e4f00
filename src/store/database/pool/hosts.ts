import type { DatabaseAddress, ServerAddress } from "./session.ts";

/** How long a preferred server must have been writable before the pool returns to it, in milliseconds. */
const returnAfterMs = 5_000;

/** What is known of one of the servers. */
interface Host {
  readonly address: HostAddress;
  /** `unknown` until the first look has ended. `readable`: it answers, but takes no writes. */
  health: "unknown" | "down" | "readable" | "writable";
  /** Since when it has this health, by `performance.now()`. */
  since: number;
}

export type HostAddress = ServerAddress & Pick<DatabaseAddress, "syncReads">;
export type Health = Exclude<Host["health"], "unknown">;

/** Each server of an address, in the order in which they are preferred. */
export function serversOf({ others = [], ...first }: DatabaseAddress): HostAddress[] {
  return [first, ...others.map((other) => ({ ...first, ...other }))];
}

/**
 * Chooses one of the servers of an address: the first that takes writes; without one, the first that answers. All
 * connections of a pool go there. So a read sees what this process wrote, and writes of one process never conflict between
 * servers.
 */
export class Hosts {
  readonly #hosts: Host[];
  #current: Host;
  /** Resolves when a server is chosen for the first time. */
  readonly #chosen = Promise.withResolvers<void>();
  #isChosen = false;

  constructor(address: DatabaseAddress) {
    this.#hosts = serversOf(address).map((each) => ({ address: each, health: "unknown", since: 0 }));
    this.#current = this.#hosts[0] as Host;
    if (!this.areMany) this.#choose(this.#current);
  }

  get areMany(): boolean {
    return this.#hosts.length > 1;
  }

  get addresses(): readonly HostAddress[] {
    return this.#hosts.map(({ address }) => address);
  }

  /** The server that is used now. */
  get current(): HostAddress {
    return this.#current.address;
  }

  /** Whether `current` has been chosen. Until then, nothing is known of the servers. */
  get isChosen(): boolean {
    return this.#isChosen;
  }

  /** Whether this server did not answer the last time. */
  isDown(address: HostAddress): boolean {
    return this.#hosts.find((each) => each.address === address)?.health === "down";
  }

  /** Resolves when a server has been chosen. */
  chosen(): Promise<void> {
    return this.#chosen.promise;
  }

  /** Records how a server was found at `now`. @returns whether another server is used from now on */
  record(address: HostAddress, health: Health, now: number): boolean {
    const host = this.#hosts.find((each) => each.address === address);
    if (host === undefined) return false;
    if (host.health !== health) {
      host.health = health;
      host.since = now;
    }
    const best = this.#best(now);
    if (best === undefined) return false;
    const isOther = this.#isChosen && best !== this.#current;
    this.#choose(best);
    return isOther;
  }

  /** The server to use; undefined while a server that is not known yet may be better. */
  #best(now: number): Host | undefined {
    const current = this.#isChosen ? this.#current : undefined;
    const isCurrentGood = current?.health === "writable";
    for (const host of this.#hosts) {
      if (host === current && isCurrentGood) return host;
      // At the start a server is waited for that is preferred.
      if (host.health === "unknown" && current === undefined) return undefined;
      if (host.health === "writable" && (!isCurrentGood || now - host.since >= returnAfterMs)) return host;
    }
    if (current !== undefined && current.health !== "down") return current;
    return this.#hosts.find(({ health }) => health === "readable") ?? current ?? this.#hosts[0];
  }

  #choose(host: Host): void {
    this.#current = host;
    if (this.#isChosen) return;
    this.#isChosen = true;
    this.#chosen.resolve();
  }
}

// The network between three servers: of each its own, so that one can be cut off from the others while clients still reach it.
import { type Command, type NodeNumber, nodes, run } from "./servers.ts";

export interface Network {
  /** The IPv4 address of a server for clients. */
  hostOf(n: NodeNumber): string;
  /** Its address for the other servers. */
  peerHostOf(n: NodeNumber): string;
  /** The addresses of all servers for each other, with the length of their common prefix. */
  readonly peers: string;
  /** The command that runs this one in the network of server `n`. */
  enter(n: NodeNumber, command: Command): Command;
  /** Why servers cannot be cut off; undefined if they can be. */
  readonly lacks: string | undefined;
  /** Takes away the connection of server `n` to the others. They get no word of that. */
  cut(n: NodeNumber): Promise<void>;
  mend(n: NodeNumber): Promise<void>;
  remove(): Promise<void>;
}

/**
 * Gives each server a network namespace with two links: one to the clients, one to a bridge between the servers. Where this
 * is not allowed, all servers share the loopback interface.
 * @param basePort tells networks of several runs apart
 */
export async function startNetwork(basePort: number): Promise<Network> {
  const network = new Namespaces(basePort);
  try {
    await network.start();
    return network;
  } catch (error) {
    await network.remove();
    return loopback(error as Error);
  }
}

function loopback({ message }: Error): Network {
  const cannot = async () => {
    throw new Error(message);
  };
  return {
    hostOf: () => "127.0.0.1",
    peerHostOf: () => "127.0.0.1",
    peers: "127.0.0.0/8",
    enter: (_, command) => command,
    lacks: message,
    cut: cannot,
    mend: cannot,
    remove: async () => {},
  };
}

const ip = (command: string) => run(["ip", ...command.split(" ")]);

class Namespaces implements Network {
  readonly lacks = undefined;
  /** Names of interfaces have at most 15 characters. */
  readonly #name: string;
  /** The third part of all addresses. The ranges are those for tests of networks (RFC 2544). */
  readonly #part: number;

  constructor(basePort: number) {
    this.#name = `stoa${basePort}`;
    this.#part = Math.floor(basePort / 40) % 256;
  }

  hostOf(n: NodeNumber): string {
    return `198.19.${this.#part}.${4 * n + 2}`;
  }

  peerHostOf(n: NodeNumber): string {
    return `198.18.${this.#part}.${n}`;
  }

  get peers(): string {
    return `198.18.${this.#part}.0/24`;
  }

  enter(n: NodeNumber, command: Command): Command {
    return ["ip", "netns", "exec", this.#space(n), ...command];
  }

  async start(): Promise<void> {
    // A run that was killed has left its network.
    await this.remove();
    await ip(`link add ${this.#name}br type bridge`);
    await ip(`link set ${this.#name}br up`);
    for (const n of nodes) {
      const space = this.#space(n);
      await ip(`netns add ${space}`);
      await ip(`-n ${space} link set lo up`);
      await this.#link(n, "c", `${this.hostOf(n)}/30`);
      await ip(`addr add 198.19.${this.#part}.${4 * n + 1}/30 dev ${this.#name}c${n}`);
      await this.#link(n, "p", `${this.peerHostOf(n)}/24`);
      await ip(`link set ${this.#name}p${n} master ${this.#name}br`);
    }
  }

  async cut(n: NodeNumber): Promise<void> {
    await ip(`link set ${this.#name}p${n} down`);
  }

  async mend(n: NodeNumber): Promise<void> {
    await ip(`link set ${this.#name}p${n} up`);
  }

  /** Removes what there is. A namespace takes its links with it once its last process has ended. */
  async remove(): Promise<void> {
    const there = await ip("-o link show").catch(() => "");
    for (const n of nodes) {
      for (const kind of ["c", "p"])
        if (there.includes(`${this.#name}${kind}${n}@`)) await ip(`link del ${this.#name}${kind}${n}`);
    }
    if (there.includes(`${this.#name}br:`)) await ip(`link del ${this.#name}br`);
    const spaces = await ip("netns list").catch(() => "");
    for (const n of nodes) if (spaces.includes(this.#space(n))) await ip(`netns del ${this.#space(n)}`);
  }

  #space(n: NodeNumber): string {
    return `${this.#name}-${n}`;
  }

  /** Makes a link into the namespace of server `n`, whose end there has this address. */
  async #link(n: NodeNumber, kind: "c" | "p", address: string): Promise<void> {
    const outer = `${this.#name}${kind}${n}`;
    await ip(`link add ${outer} type veth peer name ${kind}0 netns ${this.#space(n)}`);
    await ip(`-n ${this.#space(n)} addr add ${address} dev ${kind}0`);
    await ip(`-n ${this.#space(n)} link set ${kind}0 up`);
    await ip(`link set ${outer} up`);
  }
}

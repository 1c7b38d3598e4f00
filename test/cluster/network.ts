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

const ip = (command: string) => run(["ip", ...command.split(" ")]);

/**
 * Gives each server a network namespace with two links: one to the clients, one to a bridge between the servers. Where this
 * is not allowed, all servers share the loopback interface.
 * @param basePort tells networks of several runs apart
 */
export async function startNetwork(basePort: number): Promise<Network> {
  // Names of interfaces have at most 15 characters.
  const name = `stoa${basePort}`;
  // The third part of all addresses. The ranges are those for tests of networks (RFC 2544).
  const part = Math.floor(basePort / 40) % 256;
  const spaceOf = (n: NodeNumber) => `${name}-${n}`;
  const hostOf = (n: NodeNumber) => `198.19.${part}.${4 * n + 2}`;
  const peerHostOf = (n: NodeNumber) => `198.18.${part}.${n}`;
  /** Makes a link into the namespace of server `n`, whose end there has this address. */
  const link = async (n: NodeNumber, kind: "c" | "p", address: string) => {
    const outer = `${name}${kind}${n}`;
    await ip(`link add ${outer} type veth peer name ${kind}0 netns ${spaceOf(n)}`);
    await ip(`-n ${spaceOf(n)} addr add ${address} dev ${kind}0`);
    await ip(`-n ${spaceOf(n)} link set ${kind}0 up`);
    await ip(`link set ${outer} up`);
  };
  /** Removes what there is. A namespace takes its links with it once its last process has ended. */
  const remove = async () => {
    const there = await ip("-o link show").catch(() => "");
    for (const each of nodes.flatMap((n) => [`${name}c${n}`, `${name}p${n}`]))
      if (there.includes(`${each}@`)) await ip(`link del ${each}`);
    if (there.includes(`${name}br:`)) await ip(`link del ${name}br`);
    const spaces = await ip("netns list").catch(() => "");
    for (const n of nodes) if (spaces.includes(spaceOf(n))) await ip(`netns del ${spaceOf(n)}`);
  };
  try {
    // A run that was killed has left its network.
    await remove();
    await ip(`link add ${name}br type bridge`);
    await ip(`link set ${name}br up`);
    for (const n of nodes) {
      await ip(`netns add ${spaceOf(n)}`);
      await ip(`-n ${spaceOf(n)} link set lo up`);
      await link(n, "c", `${hostOf(n)}/30`);
      await ip(`addr add 198.19.${part}.${4 * n + 1}/30 dev ${name}c${n}`);
      await link(n, "p", `${peerHostOf(n)}/24`);
      await ip(`link set ${name}p${n} master ${name}br`);
    }
  } catch (error) {
    await remove();
    return loopback(error as Error);
  }
  return {
    hostOf,
    peerHostOf,
    peers: `198.18.${part}.0/24`,
    enter: (n, command) => ["ip", "netns", "exec", spaceOf(n), ...command],
    lacks: undefined,
    cut: async (n) => void (await ip(`link set ${name}p${n} down`)),
    mend: async (n) => void (await ip(`link set ${name}p${n} up`)),
    remove,
  };
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

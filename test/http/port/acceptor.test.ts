import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import { Acceptor, type AcceptorOptions, type Receiver } from "../../../src/http/port/acceptor.ts";
import { reservePort } from "../../../src/http/port/reserve-port.ts";
import { waitUntil } from "../../support/wait.ts";

const acceptors: Acceptor[] = [];
const clients: Socket[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  for (const acceptor of acceptors.splice(0)) await acceptor.close();
});

/** A receiver that only notes what it gets. */
class NotingReceiver implements Receiver {
  readonly got: { id: number; socket: Socket }[] = [];
  asked = 0;
  send(id: number, socket: Socket): void {
    this.got.push({ id, socket });
  }
  closeIdle(): void {
    this.asked += 1;
  }
}

async function startAcceptor(limits: Partial<AcceptorOptions> = {}) {
  const acceptor = new Acceptor({
    maxConnections: 100,
    maxConnectionsPerAddress: 100,
    isProxy: () => false,
    tooManyReply: () => ({ status: 429, body: "too many" }),
    nobodyReply: () => ({ status: 503, body: "nobody" }),
    ...limits,
  });
  acceptors.push(acceptor);
  const reserved = await reservePort({ host: "127.0.0.1", port: 0 });
  await acceptor.listen(reserved.transferSocket());
  const open = async (localAddress = "127.0.0.1") => {
    const client = connect({ port: reserved.port, host: "127.0.0.1", localAddress });
    clients.push(client.on("error", () => {}));
    await once(client, "connect");
    return client;
  };
  return { acceptor, open };
}

/** The status of the reply that a refused client gets. */
async function refusalOf(client: Socket): Promise<string> {
  const [reply] = (await once(client, "data")) as [Buffer];
  return reply.toString("latin1", 9, 12);
}

it("sends each connection to the process with the fewest, and in turn where they have as many", async () => {
  const { acceptor, open } = await startAcceptor();
  const receivers = [new NotingReceiver(), new NotingReceiver(), new NotingReceiver()] as const;
  for (const each of receivers) acceptor.add(each);
  for (let each = 0; each < 6; each++) await open();
  await waitUntil("all connections", () => receivers.every(({ got }) => got.length === 2));
  // A connection that ends at once counts for nobody, but the next one still goes to another process.
  acceptor.closed(receivers.flatMap(({ got }) => got.map(({ id }) => id)));
  for (let each = 0; each < 3; each++) {
    await open();
    await waitUntil("the connection", () => receivers.reduce((sum, { got }) => sum + got.length, 0) === 7 + each);
    acceptor.closed(receivers.flatMap(({ got }) => got.map(({ id }) => id)));
  }
  expect(receivers.map(({ got }) => got.length)).toEqual([3, 3, 3]);
});

it("sends what a process has not taken when it ends to another, and forgets what it had taken", async () => {
  const { acceptor, open } = await startAcceptor({ maxConnections: 4 });
  const [dying, other] = [new NotingReceiver(), new NotingReceiver()];
  acceptor.add(dying);
  for (let each = 0; each < 4; each++) await open();
  await waitUntil("four connections", () => dying.got.length === 4);
  const [taken] = dying.got;
  acceptor.taken(taken?.id as number);
  expect(taken?.socket.destroyed).toBe(true);
  acceptor.add(other);
  acceptor.end(dying);
  expect(other.got.map(({ id }) => id)).toEqual(dying.got.slice(1).map(({ id }) => id));
  // There is room for one again.
  await open();
  await waitUntil("the fifth", () => other.got.length === 4);
});

it("sends nothing more to a process that does not take what it has, as long as another one takes its own", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const { acceptor, open } = await startAcceptor();
  const [hung, other] = [new NotingReceiver(), new NotingReceiver()];
  acceptor.add(hung);
  await open();
  await waitUntil("the first", () => hung.got.length === 1);
  acceptor.add(other);
  const openMore = async () => {
    await open();
    await waitUntil("the connection", () => other.got.length > 0 || hung.got.length > 1);
    for (const { id } of other.got) acceptor.taken(id);
    return [hung.got.splice(1).length, other.got.splice(0).length];
  };
  expect(await openMore()).toEqual([0, 1]);
  vi.advanceTimersByTime(500);
  for (let each = 0; each < 4; each++) expect(await openMore()).toEqual([0, 1]);
  acceptor.taken(hung.got[0]?.id as number);
  expect(await openMore()).toEqual([1, 0]);
  // With nobody else, it gets connections all the same.
  vi.advanceTimersByTime(500);
  acceptor.remove(other);
  expect(await openMore()).toEqual([1, 0]);
});

it("keeps connections until there is a process that takes them", async () => {
  const { acceptor, open } = await startAcceptor();
  const client = await open();
  client.write("early");
  const receiver = new NotingReceiver();
  acceptor.add(receiver);
  await waitUntil("the connection", () => receiver.got.length === 1);
  // Nothing of it has been read here.
  const socket = receiver.got[0]?.socket as Socket;
  expect(socket.bytesRead).toBe(0);
  expect(String((await once(socket.resume(), "data"))[0])).toBe("early");
});

it("refuses an address that has as many connections as it may have, on all processes together", async () => {
  const { acceptor, open } = await startAcceptor({ maxConnectionsPerAddress: 2 });
  const receivers = [new NotingReceiver(), new NotingReceiver()];
  for (const each of receivers) acceptor.add(each);
  for (let each = 0; each < 2; each++) await open();
  expect(await refusalOf(await open())).toBe("429");
  await open("127.0.0.2");
  await waitUntil("three connections", () => receivers.flatMap(({ got }) => got).length === 3);
  acceptor.closed([1]);
  await open();
  await waitUntil("the fourth", () => receivers.flatMap(({ got }) => got).length === 4);
});

it("has an idle connection closed for each new one when it is full, and refuses where none is idle", async () => {
  const { acceptor, open } = await startAcceptor({ maxConnections: 3, maxConnectionsPerAddress: 3 });
  const receivers = [new NotingReceiver(), new NotingReceiver()] as const;
  for (const each of receivers) acceptor.add(each);
  for (let each = 0; each < 3; each++) await open();
  await waitUntil("three connections", () => receivers.flatMap(({ got }) => got).length === 3);
  // Nobody is asked for room for an address that may not have another connection.
  expect(await refusalOf(await open())).toBe("429");
  expect(receivers.map(({ asked }) => asked)).toEqual([0, 0]);

  const [larger, smaller] = receivers[0].got.length === 2 ? receivers : [receivers[1], receivers[0]];
  await open("127.0.0.2");
  await waitUntil("the question", () => larger.asked === 1);
  // The process with the most connections has none that is idle. The other one has.
  acceptor.foundNoneIdle();
  expect(smaller.asked).toBe(1);
  acceptor.closed([smaller.got[0]?.id as number]);
  await waitUntil("the new connection", () => receivers.flatMap(({ got }) => got).length === 4);

  const refused = await open("127.0.0.2");
  await waitUntil("the next question", () => larger.asked + smaller.asked === 3);
  acceptor.foundNoneIdle();
  acceptor.foundNoneIdle();
  expect(await refusalOf(refused)).toBe("429");
});

import { once } from "node:events";
import net, { type Socket } from "node:net";
import tls, { type TLSSocket } from "node:tls";
import { afterAll, describe, expect, it } from "vitest";
import { cutSocket, noteTls, transportOf } from "../../../src/http/port/transport.ts";
import { certificate } from "../../support/port.ts";

const servers: net.Server[] = [];
afterAll(() => {
  for (const server of servers) server.close();
});

/** @returns the server's side of a new connection */
async function accept(isSecure: boolean): Promise<Socket> {
  const server = isSecure ? tls.createServer(certificate) : net.createServer();
  servers.push(server.listen(0, "127.0.0.1"));
  await once(server, "listening");
  const { port } = server.address() as net.AddressInfo;
  const client = isSecure ? tls.connect({ port, rejectUnauthorized: false }) : net.connect(port, "127.0.0.1");
  client.on("error", () => {}).resume();
  const [socket] = (await once(server, isSecure ? "secureConnection" : "connection")) as [Socket];
  if (isSecure) noteTls(socket as TLSSocket);
  return socket;
}

describe.each([
  ["TCP", false],
  ["TLS", true],
])("a connection over %s that is cut", (_name, isSecure) => {
  // When the shutdown begins and ends is up to Node, so the cut comes after each of some steps.
  it.each(Array.from({ length: 8 }, (_, steps) => steps))("%i steps after its end closes", async (steps) => {
    const socket = await accept(isSecure);
    const transport = transportOf(socket);
    // TLS fails to write where its connection has been cut.
    socket.on("error", () => {});
    const closed = once(transport, "close");
    socket.end("Good bye.");
    for (let step = 0; step < steps; step++) await new Promise<void>(step < 4 ? process.nextTick : setImmediate);
    cutSocket(transport);
    await closed;
    expect((transport as { _handle?: unknown })._handle).toBeFalsy();
  });
});

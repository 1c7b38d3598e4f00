import { once } from "node:events";
import { describe, expect, it } from "vitest";
import type { PortOptions } from "../../../src/http/port/port.ts";
import type { Refuse } from "../../../src/http/port/refusals.ts";
import { certificate, connect, connectHttp2, connectTls, get, readStream, request, start } from "../../support/port.ts";

const refuse: Refuse = (status) => ({
  status,
  body: '{"error":"rate_limited"}',
  headers: { "Retry-After": "1" },
});

const caps = (
  changes: Partial<NonNullable<PortOptions["connections"]>>,
): Partial<PortOptions> & { refuse: Refuse } => ({
  refuse,
  connections: {
    maxConnections: 1000,
    maxConnectionsPerAddress: 1000,
    countAs: (address) => address,
    isProxy: () => false,
    ...changes,
  },
});

describe("the caps on connections", () => {
  it("refuse one connection too many of an address with a reply, until another one closes", async () => {
    const { number } = await start(caps({ maxConnectionsPerAddress: 2 }));
    const [first, second] = [connect(number), connect(number)];
    for (const { socket, seen } of [first, second]) {
      socket.write(request("/version"));
      await seen("}");
    }
    const third = await connect(number).closed;
    expect(third).toMatch(
      /^HTTP\/1\.1 429 Too Many Requests\r\n(.|\r\n)*Retry-After: 1\r\n\r\n{"error":"rate_limited"}$/,
    );
    second.socket.write(request("/version"));
    await second.seen("}", 2);
    first.socket.write(request("/version", "Connection: close"));
    await first.closed;
    const fourth = connect(number);
    fourth.socket.write(request("/version"));
    await fourth.seen("}");
  });

  it("count no connection of an address twice that has replaced its own idle ones", async () => {
    const { number } = await start(caps({ maxConnections: 2, maxConnectionsPerAddress: 4 }));
    for (let count = 0; count < 10; count++) {
      const { socket, seen } = connect(number);
      socket.write(request("/version"));
      expect(await seen("}")).toContain(" 200 OK");
    }
  });

  it("close one TLS connection too many", async () => {
    const { number } = await start({ tls: certificate, ...caps({ maxConnectionsPerAddress: 1 }) });
    const session = connectHttp2(number, "https");
    expect(await readStream(get(session, "/version"))).toContain("2.0");
    expect(await connect(number).closed).toBe("");
    expect(await readStream(get(session, "/version"))).toContain("2.0");
  });

  it("do not count a trusted proxy's connections by address", async () => {
    const { number, port } = await start(
      caps({ maxConnectionsPerAddress: 1, isProxy: (address) => address === "127.0.0.1" }),
    );
    const connections = Array.from({ length: 5 }, () => connect(number));
    for (const { socket, seen } of connections) {
      socket.write(request("/version"));
      await seen("}");
    }
    expect(port.connections.total).toBe(5);
  });

  it("close an idle connection, but not a busy one, when the port is full", async () => {
    const { number, port, entered, release } = await start(caps({ maxConnections: 4 }));
    const running = entered();
    const busy = connect(number);
    busy.socket.write(request("/held"));
    await running;
    const session = connectHttp2(number);
    const stream = get(session, "/streamed");
    const text = readStream(stream);
    await once(stream, "response");
    const silent = connect(number);
    const idle = connect(number);
    idle.socket.write(request("/version"));
    await idle.seen("}");
    while (port.connections.total < 4) await new Promise(setImmediate);

    const fifth = connect(number);
    const fifthHeld = entered();
    fifth.socket.write(request("/held"));
    await fifthHeld;
    await silent.closed;
    const sixth = connect(number);
    const sixthHeld = entered();
    sixth.socket.write(request("/held"));
    await sixthHeld;
    await idle.closed;
    expect(await connect(number).closed).toMatch(/^HTTP\/1\.1 429 /);
    release();
    expect(await text).toBe("first,last.");
    await Promise.all([busy, fifth, sixth].map(({ seen }) => seen('{"held":true}')));
  });

  it("close no busy TLS connection when the port is full", async () => {
    const { number, entered, release } = await start({ tls: certificate, ...caps({ maxConnections: 2 }) });
    const running = entered();
    const busy = await connectTls(number, "http/1.1");
    busy.socket.write(request("/held"));
    await running;
    const idle = await connectTls(number, "http/1.1");
    const session = connectHttp2(number, "https");
    expect(await readStream(get(session, "/version"))).toContain("2.0");
    await idle.closed;
    release();
    await busy.seen('{"held":true}');
  });
});

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, it } from "vitest";
import { afterFile } from "../support/after-file.ts";
import { createDatabaseWithSchema } from "../support/database.ts";
import { ServiceProcess, urlOf } from "../support/process.ts";

// The system drops what exceeds the queue, and the peer tries again a second later. A proxy opens many connections at once.
it("1,500 connections are taken while the service is busy, and then answered", async () => {
  const { config } = await createDatabaseWithSchema();
  const service = new ServiceProcess({ STOA_DATABASE_URL: urlOf(config), STOA_MAX_CONNECTIONS_PER_ADDRESS: "2000" });
  afterFile(() => {
    service.signal("SIGCONT");
    return service.end("SIGTERM");
  });
  const { hostname, port } = new URL(await service.url());
  service.signal("SIGSTOP");
  const sockets: Socket[] = [];
  afterFile(() => {
    for (const socket of sockets) socket.destroy();
  });
  for (let n = 0; n < 1_500; n++) {
    const socket = connect(Number(port), hostname);
    sockets.push(socket);
    await once(socket, "connect", { signal: AbortSignal.timeout(60_000) });
  }
  service.signal("SIGCONT");
  const last = sockets.at(-1) as Socket;
  last.write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
  const [reply] = await once(last, "data");
  expect(String(reply)).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
});

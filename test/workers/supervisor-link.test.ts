import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { afterFile } from "../support/after-file.ts";
import { nodeEnvironment } from "../support/node-environment.ts";

const link = fileURLToPath(new URL("../../src/workers/supervisor-link.ts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "stoa-test-link-"));
afterFile(() => rmSync(folder, { recursive: true, force: true }));
const program = join(folder, "worker.ts");
writeFileSync(
  program,
  `import { SupervisorLink } from ${JSON.stringify(link)};
   const link = new SupervisorLink(() => process.exit());
   link.ready({ take: (socket) => socket.end("served"), closeIdle: () => false, warn: () => {}, metrics: async () => [] });
   void link.stopAnnounced.then(() => link.fail("announced"));
   void link.stopped.then(() => link.leave());`,
);

it("a worker takes no connection that reaches it after it has left, and leaves it to the supervisor", async () => {
  const worker = fork(program, [], { serialization: "advanced", env: nodeEnvironment });
  onTestFinished(() => void worker.kill());
  const messages: { type: string; id?: number }[] = [];
  worker.on("message", (message) => messages.push(message as { type: string }));
  const until = async (type: string) => {
    while (!messages.some((message) => message.type === type)) await once(worker, "message");
  };
  const server = createServer({ pauseOnConnect: true }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const hand = async (id: number) => {
    const client = connect(port, "127.0.0.1");
    const [socket] = (await once(server, "connection")) as [Socket];
    worker.send({ type: "connection", id }, socket, { keepOpen: true });
    return { client, socket };
  };
  await until("ready");
  const first = await hand(1);
  expect(String((await once(first.client, "data"))[0])).toBe("served");
  expect(messages.filter(({ type }) => type === "taken")).toEqual([{ type: "taken", id: 1 }]);

  // A worker that hears of a stop still takes connections.
  worker.send({ type: "stopAnnounced" });
  await until("failed");
  expect(String((await once((await hand(2)).client, "data"))[0])).toBe("served");

  worker.send({ type: "stop" });
  await until("leaving");
  const late = await hand(3);
  // Its answer to this comes after whatever it does about the connection.
  worker.send({ type: "closeIdle" });
  await until("noneIdle");
  expect(messages.flatMap(({ type, id }) => (type === "taken" ? [id] : []))).toEqual([1, 2]);
  // The connection lives on here.
  late.socket.end("by another");
  expect(String((await once(late.client, "data"))[0])).toBe("by another");
});

// A port that answers `/` and tells at `/heap` how much memory is in use after minor collections; for closed-streams.test.ts.
import { Port } from "../../../src/http/port/port.ts";

const collect = globalThis.gc as (options?: { type: "minor" }) => void;

const port = new Port({
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 10_000,
  idleTimeoutMs: 10_000,
  drainTimeoutMs: 1000,
});
const server = port.serverFactory((request, response) => {
  request.resume().once("end", () => {
    if (request.url === "/") return response.end("ok");
    if (request.url === "/begin") collect();
    for (let i = 0; i < 3; i++) collect({ type: "minor" });
    return response.end(String(process.memoryUsage().heapUsed));
  });
});
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as { port: number }).port}\n`);
});
process.on("SIGTERM", () => process.exit());

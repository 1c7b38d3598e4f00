// The service's transport alone: its port, its edge and the standard services for gRPC tools.
import { createBareServer } from "../../test/support/bare-server.ts";

const shutdown = new AbortController();
const { server, port } = await createBareServer({ services: [], shutdown: shutdown.signal });
server.serve();
const number = await port.listen({ host: "127.0.0.1", port: 0 });
process.stdout.write(`The transport answers at http://127.0.0.1:${number}\n`);
process.on("SIGTERM", () => {
  shutdown.abort(new Error("The service is stopping."));
  void server.close();
});

// The upper bound of `npm run bench -- --facade`: a bare Fastify route that sends bytes that are there already.
import { fastify } from "fastify";

const { BARE_SOURCE, BARE_PATH } = process.env;
const bytes = Buffer.from(await (await fetch(`${BARE_SOURCE}${BARE_PATH}`)).arrayBuffer());
const app = fastify();
app.get((BARE_PATH as string).replace(/\?.*/, ""), async (_request, reply) =>
  reply.header("content-type", "application/json; charset=utf-8").send(bytes),
);
process.stdout.write(`The bare route answers at ${await app.listen({ host: "127.0.0.1", port: 0 })}\n`);
process.on("SIGTERM", () => void app.close());

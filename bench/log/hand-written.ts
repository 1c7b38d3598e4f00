// The reference for tiles: a route that was written by hand with Fastify and mysql2. It imports nothing from src/.
import { fastify } from "fastify";
import { execute, openPool } from "../baseline/database.ts";

const { BASELINE_DATABASE_URL, BASELINE_CONNECTIONS } = process.env;
const pool = openPool(BASELINE_DATABASE_URL as string, Number(BASELINE_CONNECTIONS));
const app = fastify();

app.get("/log/tile/0/*", async (request, reply) => {
  const { "*": path } = request.params as { "*": string };
  const n = Number(path.replaceAll(/[x/]/g, ""));
  const [row] = await execute<{ hashes: Buffer }[]>(pool, "SELECT hashes FROM log_tiles WHERE level = 0 AND n = ?", [
    n,
  ]);
  if (row === undefined) return reply.code(404).send({ ok: false, error: "not_found" });
  reply.header("content-type", "application/octet-stream");
  return reply.header("cache-control", "public, max-age=31536000, immutable").send(row.hashes);
});

process.stdout.write(`The hand-written routes answer at ${await app.listen({ host: "127.0.0.1", port: 0 })}\n`);
process.on("SIGTERM", () => void app.close().then(() => pool.end()));

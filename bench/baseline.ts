// The reference of the bench: the same routes, hand-written with only Fastify and mysql2. They use the service's statements
// and pool settings, and log nothing. This program imports nothing from src/. The routes that write, and that of a post, are
// there twice: as one would first write them, and with the round trips of the service.
import { fastify } from "fastify";
import { openPool } from "./baseline/database.ts";
import { addImprovedRoutes } from "./baseline/improved-routes.ts";
import { addPostRoutes } from "./baseline/routes.ts";

const { BASELINE_DATABASE_URL, BASELINE_CONNECTIONS, BASELINE_SITE_URL } = process.env;
const pool = openPool(BASELINE_DATABASE_URL as string, Number(BASELINE_CONNECTIONS));
const writePool = openPool(BASELINE_DATABASE_URL as string, Number(BASELINE_CONNECTIONS), false);
const app = fastify({ bodyLimit: 256 * 1024 });
addPostRoutes(app, pool, BASELINE_SITE_URL as string);
addImprovedRoutes(app, pool, writePool, BASELINE_SITE_URL as string);
process.stdout.write(`The hand-written routes answer at ${await app.listen({ host: "127.0.0.1", port: 0 })}\n`);
process.on("SIGTERM", () => void app.close().then(() => Promise.all([pool.end(), writePool.end()])));

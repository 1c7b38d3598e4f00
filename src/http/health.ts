import type { FastifyInstance } from "fastify";

/**
 * /healthz says that the process runs; /readyz that it can serve.
 * @param checkReady throws `StoaError` `unavailable` with the reason otherwise
 */
export function addHealthRoutes(app: FastifyInstance, checkReady: () => Promise<void>): void {
  app.get("/healthz", async (_request, reply) => reply.header("cache-control", "no-store").send({ ok: true }));
  app.get("/readyz", async (_request, reply) => {
    reply.header("cache-control", "no-store");
    await checkReady();
    return reply.send({ ok: true });
  });
}

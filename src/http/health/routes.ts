import type { FastifyInstance } from "fastify";

/** Monitoring is never rate limited. */
const unlimited = { config: { limits: "none" } } as const;

/**
 * /healthz says that the process runs, and /readyz that it can serve.
 * @param checkReady throws `StoaError` `unavailable` with the reason when it cannot; returns a warning, if there is one
 */
export function addHealthRoutes(app: FastifyInstance, checkReady: () => Promise<string | undefined>): void {
  app.get("/healthz", unlimited, async (_request, reply) =>
    reply.header("cache-control", "no-store").send({ ok: true }),
  );
  app.get("/readyz", unlimited, async (_request, reply) => {
    reply.header("cache-control", "no-store");
    const warning = await checkReady();
    return reply.send({ ok: true, ...(warning === undefined ? {} : { warning }) });
  });
}

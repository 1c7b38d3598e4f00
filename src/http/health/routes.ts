import type { Router } from "../edge/router.ts";
import type { HttpReply } from "../replies/reply.ts";

/**
 * /healthz says that the process runs, and /readyz that it can serve. Monitoring is never rate limited.
 * @param checkReady throws `StoaError` `unavailable` with the reason when it cannot; returns a warning, if there is one
 */
export function addHealthRoutes(router: Router, checkReady: () => Promise<string | undefined>): void {
  router.get("/healthz", { limits: "none", serve: () => asJson({ ok: true }) });
  const serve = async () => {
    const warning = await checkReady();
    return asJson({ ok: true, ...(warning === undefined ? {} : { warning }) });
  };
  router.get("/readyz", { limits: "none", serve });
}

/** What tells how a service is. It is never cached. */
export function asJson(body: object): HttpReply {
  const fields = { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" };
  return { status: 200, fields, body: JSON.stringify(body) };
}

import { createSecretCheck } from "../../calls/secrets.ts";
import { StoaError } from "../../errors.ts";
import type { MetricsText } from "../../metrics/metrics.ts";
import type { Admission } from "../admission/admission.ts";
import type { Router } from "../edge/router.ts";
import type { RequestContext } from "../requests/context.ts";

/**
 * Adds /metrics to the public port, for clients that show the token. The right token is accepted whatever its address has
 * done. Other requests are limited like any request.
 */
export function addMetricsRoute(
  router: Router,
  { metrics, token, admission }: { metrics: MetricsText; token: string; admission: Admission },
): void {
  const isToken = createSecretCheck(token);
  const serve = async (context: RequestContext) => {
    const [, shown = ""] = /^Bearer +([^ ]+) *$/i.exec(context.request.headers.authorization ?? "") ?? [];
    if (!isToken(shown)) {
      await admission.visit(context);
      throw new StoaError("unauthorized", "This needs the metrics token: Authorization: Bearer <token>.");
    }
    const fields = { "cache-control": "no-store", "content-type": metrics.contentType };
    return { status: 200, fields, body: await metrics.text() };
  };
  router.get("/metrics", { limits: "none", serve });
}

import { hash, timingSafeEqual } from "node:crypto";
import { StoaError } from "../../errors.ts";
import type { MetricsText } from "../../metrics/metrics.ts";
import type { Admission } from "../admission/admission.ts";
import type { Router } from "../edge/router.ts";
import type { HttpReply } from "../replies/reply.ts";
import type { RequestContext } from "../requests/context.ts";

/**
 * Adds /metrics to the public port, for clients that show the token. The right token is accepted whatever its address has
 * done. Other requests are limited like any request.
 */
export function addMetricsRoute(
  router: Router,
  { metrics, token, admission }: { metrics: MetricsText; token: string; admission: Admission },
): void {
  // Digests have one length and are compared in constant time, so that a reply does not show how close a guess is.
  const digest = (text: string) => hash("sha256", text, "buffer");
  const expected = digest(token);
  const serve = async (context: RequestContext): Promise<HttpReply> => {
    const [, shown = ""] = /^Bearer +([^ ]+) *$/i.exec(context.request.headers.authorization ?? "") ?? [];
    if (!timingSafeEqual(digest(shown), expected)) {
      await admission.visit(context);
      throw new StoaError("unauthorized", "This needs the metrics token: Authorization: Bearer <token>.");
    }
    const fields = { "cache-control": "no-store", "content-type": metrics.contentType };
    return { status: 200, fields, body: await metrics.text() };
  };
  router.get("/metrics", { limits: "none", serve });
}

import { hash, timingSafeEqual } from "node:crypto";
import type { FastifyInstance } from "fastify";
import { StoaError } from "../../errors.ts";
import type { Admission } from "../admission/admission.ts";
import { admitVisit } from "../admission/hooks.ts";
import type { MetricsText } from "./metrics.ts";

/**
 * Adds /metrics to the public port, for clients that show the token. The right token is accepted whatever its address has
 * done. Other requests are limited like any request.
 */
export function addMetricsRoute(
  app: FastifyInstance,
  { metrics, token, admission }: { metrics: MetricsText; token: string; admission: Admission },
): void {
  // Digests have one length and are compared in constant time, so that a reply does not show how close a guess is.
  const digest = (text: string) => hash("sha256", text, "buffer");
  const expected = digest(token);
  app.get("/metrics", { config: { limits: "none" } }, async (request, reply) => {
    const [, shown = ""] = /^Bearer +([^ ]+) *$/i.exec(request.headers.authorization ?? "") ?? [];
    if (!timingSafeEqual(digest(shown), expected)) {
      await admitVisit(admission, request);
      throw new StoaError("unauthorized", "This needs the metrics token: Authorization: Bearer <token>.");
    }
    return reply
      .header("cache-control", "no-store")
      .header("content-type", metrics.contentType)
      .send(await metrics.text());
  });
}

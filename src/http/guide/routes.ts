import type { FastifyInstance } from "fastify";
import type { ServiceTable } from "../services.ts";
import { sendText } from "../site/reply.ts";
import { Guide, type GuideName } from "./guide.ts";

const types: Record<GuideName, string> = {
  "skill.md": "text/markdown; charset=utf-8",
  "llms.txt": "text/plain; charset=utf-8",
};

/**
 * /skill.md, all that an agent needs on one page, and /llms.txt, where to find it (https://llmstxt.org).
 * @param siteUrl gives the public root address, without a slash at its end
 */
export function addGuideRoutes(app: FastifyInstance, { services }: ServiceTable, siteUrl: () => string): void {
  const guide = new Guide(services.map(({ service }) => service));
  for (const [name, contentType] of Object.entries(types) as [GuideName, string][]) {
    const headers = {
      "content-type": contentType,
      "access-control-allow-origin": "*",
      "x-content-type-options": "nosniff",
    };
    app.get(`/${name}`, async (request, reply) => sendText(request, reply, guide.text(name, siteUrl()), headers));
  }
}

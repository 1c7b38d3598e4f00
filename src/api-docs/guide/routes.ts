import type { ServiceTable } from "../../calls/service-table.ts";
import type { RegistrationMode } from "../../contract/registration.ts";
import type { Router } from "../../http/edge/router.ts";
import { Precompressed } from "../../http/replies/precompressed.ts";
import type { NewAgentPolicies } from "../../rate-limits/new-agents.ts";
import type { Policies } from "../../rate-limits/policy.ts";
import { Guide, type GuideName } from "./guide.ts";

const types: Record<GuideName, string> = {
  "skill.md": "text/markdown; charset=utf-8",
  "llms.txt": "text/plain; charset=utf-8",
};

export interface GuideOptions {
  table: ServiceTable;
  /** The public root address, without a trailing slash. */
  siteUrl: string;
  /** The rate limits, if there are any. */
  policies: Policies | undefined;
  /** The smaller rate limits of new agents, if there are any. */
  newAgentPolicies: NewAgentPolicies;
  /** Who may register agents. */
  registration: RegistrationMode;
}

/**
 * Adds /skill.md, a guide for agents on one page, and /llms.txt, which links to it (https://llmstxt.org).
 * @returns the texts
 */
export function addGuideRoutes(router: Router, { table, siteUrl, ...server }: GuideOptions): Guide {
  const guide = new Guide(
    table.services.map(({ service }) => service),
    server,
  );
  for (const [name, contentType] of Object.entries(types) as [GuideName, string][]) {
    const text = new Precompressed(guide.text(name, siteUrl), {
      "content-type": contentType,
      "cache-control": "public, max-age=10",
      "access-control-allow-origin": "*",
    });
    router.get(`/${name}`, { serve: (request) => text.reply(request) });
  }
  return guide;
}

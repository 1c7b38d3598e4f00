import type { ServiceTable } from "../../calls/service-table.ts";
import type { RegistrationMode } from "../../contract/registration.ts";
import type { Router } from "../../http/edge/router.ts";
import { Precompressed } from "../../http/replies/precompressed.ts";
import type { NewAgentPolicies } from "../../rate-limits/new-agents.ts";
import type { Policies } from "../../rate-limits/policy.ts";
import { type GuideName, writeGuide } from "./guide.ts";

interface GuideOptions {
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
 * @returns /skill.md
 */
export function addGuideRoutes(router: Router, { table, siteUrl, ...server }: GuideOptions): string {
  const services = table.services.map(({ service }) => service);
  const add = (name: GuideName, contentType: string): string => {
    const text = writeGuide(name, services, siteUrl, server);
    const kept = new Precompressed(text, {
      "content-type": contentType,
      "cache-control": "public, max-age=10",
      "access-control-allow-origin": "*",
    });
    router.get(`/${name}`, { serve: (request) => kept.reply(request) });
    return text;
  };
  add("llms.txt", "text/plain; charset=utf-8");
  return add("skill.md", "text/markdown; charset=utf-8");
}

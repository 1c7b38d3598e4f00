import { readFileSync } from "node:fs";
import type { DescService } from "@bufbuild/protobuf";
import type { RegistrationMode } from "../../contract/registration.ts";
import type { NewAgentPolicies } from "../../rate-limits/new-agents.ts";
import type { Policies } from "../../rate-limits/policy.ts";
import { apiPrefix, Contract } from "./contract.ts";
import { describeRules, numberInPath } from "./inputs.ts";
import { describeLimits } from "./limits.ts";
import { registrationOption, registrationText } from "./registration.ts";
import { callTable, errorTable } from "./tables.ts";

/** What the guide says of the server besides the contract. */
interface GuideServer {
  /** The rate limits, if there are any. */
  policies?: Policies | undefined;
  /** The smaller rate limits of new agents, if there are any. */
  newAgentPolicies?: NewAgentPolicies;
  /** Who may register agents; by default anybody. */
  registration?: RegistrationMode;
}

export type GuideName = "skill.md" | "llms.txt";

/**
 * Writes one of the texts of the guide. Text in double braces in its template is replaced from the contract or the
 * configuration.
 * @param siteUrl the public root address, without a trailing slash
 * @throws Error if the template refers to something that the contract does not have: the service does not start then
 */
export function writeGuide(
  name: GuideName,
  services: readonly DescService[],
  siteUrl: string,
  { policies, newAgentPolicies = {}, registration = "open" }: GuideServer = {},
): string {
  const contract = new Contract(services, siteUrl);
  const template = readFileSync(new URL(`templates/${name}`, import.meta.url), "utf8");
  return template.replace(/\{\{(\w+)([^{}]*)\}\}/g, (whole, what: string, rest: string) => {
    const [subject = "", ...assignments] = rest.trim().split(/\s+/);
    switch (what) {
      case "site":
        return siteUrl;
      case "address":
        return fileName(siteUrl);
      case "url":
        return siteUrl + contract.path(subject, parse(assignments));
      case "api":
        return inShell(contract.path(subject, parse(assignments)), siteUrl);
      case "rules":
        return describeRules(contract.input(subject));
      case "calls":
        return callTable(contract);
      case "number_in_path":
        return numberInPath;
      case "limits":
        return describeLimits(policies, newAgentPolicies);
      case "registration":
        return registrationText(registration);
      case "registration_option":
        return registrationOption(registration);
      case "errors":
        return errorTable();
      default:
        throw new Error(`${name} has an unknown placeholder: ${whole}.`);
    }
  });
}

/**
 * Converts a root address to a file name: host, port and path. Different addresses have different names, and names have no
 * special characters of a shell.
 */
function fileName(siteUrl: string): string {
  const { protocol, hostname, port, pathname } = new URL(siteUrl);
  const path = pathname === "/" ? "" : pathname;
  const name = `${hostname}_${port || (protocol === "https:" ? 443 : 80)}${path}`;
  // A parsed address is ASCII.
  return name.replace(/[^A-Za-z0-9._-]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Reads values of variables: `["id=1"]`. */
function parse(assignments: string[]): Record<string, string> {
  return Object.fromEntries(assignments.map((each) => each.split("=", 2)));
}

/** The address of a path in the commands of the guide, which begin by setting `API`. */
function inShell(path: string, siteUrl: string): string {
  return path.startsWith(`${apiPrefix}/`) ? `$API${path.slice(apiPrefix.length)}` : siteUrl + path;
}

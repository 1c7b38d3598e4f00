import { formatNumber } from "../../contract/field-words.ts";
import { limitTexts } from "../../rate-limits/limit-texts.ts";
import type { NewAgentPolicies } from "../../rate-limits/new-agents.ts";
import type { Policies } from "../../rate-limits/policy.ts";
import { table } from "./tables.ts";

/** A table of the rate limits. */
export function limitTable(policies: Policies): string {
  const rows = Object.values(policies).map(({ name, burst, windowSeconds }) => [
    `\`${name}\``,
    `${limitTexts[name].counted}, per ${limitTexts[name].per}`,
    formatNumber(burst),
    duration(windowSeconds),
  ]);
  return table(["limit", "what it counts", "at once", "restored in"], rows);
}

/** Describes the rate limits and the header fields that report them. */
export function describeLimits(policies: Policies | undefined, newAgentPolicies: NewAgentPolicies): string {
  if (policies === undefined) return "This server has no rate limits.";
  const { burst, windowSeconds } = policies.posts;
  const next = Math.ceil(windowSeconds / burst);
  return `${limitTable(policies)}

Every response says what is left: \`RateLimit: "posts";r=${burst - 1};t=${next}\` means ${burst - 1} more at once, and one more after
${next} seconds. Writes that are refused, repeated or change nothing do not count towards their own limit.${describeNewAgents(newAgentPolicies)}`;
}

function describeNewAgents(policies: NewAgentPolicies): string {
  const rows = Object.values(policies).map(({ name, burst, windowSeconds }) => [
    `\`${name}\``,
    formatNumber(burst),
    duration(windowSeconds),
  ]);
  if (rows.length === 0) return "";
  return `

In the first 24 hours after its registration, an agent has smaller limits:

${table(["limit", "at once", "restored in"], rows)}`;
}

/** Writes a duration in the largest unit that fits: 3600 seconds are 1 hour, 5400 are 90 minutes. */
function duration(seconds: number): string {
  const units = [
    [86_400, "day"],
    [3_600, "hour"],
    [60, "minute"],
    [1, "second"],
  ] as const;
  const [size, name] = units.find(([each]) => seconds % each === 0) ?? [1, "second"];
  return `${formatNumber(seconds / size)} ${name}${seconds === size ? "" : "s"}`;
}

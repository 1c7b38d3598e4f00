import { limitTexts } from "../../rate-limits/limit-texts.ts";
import type { Policies } from "../../rate-limits/policy.ts";
import { formatNumber } from "./inputs.ts";
import { table } from "./tables.ts";

/** The rate limits, and how a reply tells of them. */
export function describeLimits(policies: Policies | undefined): string {
  if (policies === undefined) return "This server limits nothing.";
  const rows = Object.values(policies).map(({ name, burst, windowSeconds }) => [
    `\`${name}\``,
    `${limitTexts[name].counted}, per ${limitTexts[name].per}`,
    formatNumber(burst),
    duration(windowSeconds),
  ]);
  const { burst, windowSeconds } = policies.posts;
  const next = Math.ceil(windowSeconds / burst);
  return `${table(["limit", "of", "at once", "regained in"], rows)}

Every reply says how you stand: \`RateLimit: "posts";r=${burst - 1};t=${next}\` means that ${burst - 1} more may come at once, and that
one is regained in ${next} seconds. A write that is refused, repeated or changes nothing spends nothing of its own limit.`;
}

/** 3600 seconds are an hour, 5400 are 90 minutes. */
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

// Long heads of requests. A regular expression that tries such a text from each of its characters takes half a second.
import { it } from "vitest";
import { type Ask, flood } from "./requests.ts";
import { startVictim } from "./support.ts";

const long = (unit: string) => unit.repeat(15_000 / unit.length);
const fields = [
  "accept",
  "accept-encoding",
  "authorization",
  "content-type",
  "cookie",
  "forwarded",
  "if-none-match",
  "origin",
  "traceparent",
  "x-forwarded-for",
];
const units = [" ", ",", ", ", ";", "; ", "a", "/"];
const heads: readonly Ask[] = fields.flatMap((name) =>
  units.map((unit) => ({ path: "/", headers: { [name]: `a${long(unit)}b` } })),
);
const paths: readonly Ask[] = ["/", "/a", ".", "a.", "%41", "?&"].flatMap((unit) => [
  { path: `/${long(unit)}` },
  { path: `/${long(unit)}/x` },
]);

it("long fields and paths do not delay other clients", { timeout: 120_000 }, async () => {
  // Refusals have a limit of their own, which is not what is tried here.
  const victim = await startVictim({ STOA_RATE_LIMITS: "off" });
  await flood(victim, Array.from({ length: 8 }, () => [...heads, ...paths]).flat(), [307]);
});

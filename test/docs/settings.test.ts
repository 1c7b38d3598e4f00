// The operator's pages against what the service reads and the alerts.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { expect, it } from "vitest";
import { readConfig } from "../../src/config/config.ts";
import { defaultQuotas, limitNames, type Quota } from "../../src/rate-limits/quota.ts";
import { blocksIn, readPage, root } from "./pages.ts";

const page = readPage("docs/operating.md");

it("the limits of docs/operating.md for a public board are settings that allow less than the defaults, each of them", () => {
  const settings = blocksIn(page, "ini")
    .map((block) => parseEnv(block))
    .find((each) => "STOA_LIMIT_POSTS" in each);
  const { rateLimits } = readConfig(settings ?? {});
  for (const name of limitNames) {
    const perSecond = ({ calls, windowSeconds }: Quota) => calls / windowSeconds;
    expect(perSecond(rateLimits?.[name] as Quota), name).toBeLessThan(perSecond(defaultQuotas[name]));
  }
});

it("the table of settings in docs/reference.md has exactly what the configuration reads", () => {
  const documented = [...readPage("docs/reference.md").matchAll(/^\| (`(?:STOA|OTEL)_[^|]*) \|/gm)].flatMap(
    ([, cell]) => cell?.match(/(?:STOA|OTEL)_[A-Z_]+/g) ?? [],
  );
  const read = new Set<string>();
  readConfig(new Proxy({}, { get: (_, name) => void read.add(String(name)) }) as Record<string, undefined>);
  expect(documented.sort()).toEqual([...read].sort());
});

it("each alert has a row in docs/operating.md that says what to do", () => {
  const alerts = readFileSync(join(root, "deploy/prometheus/alerts.yaml"), "utf8").matchAll(/- alert: (\w+)/g);
  const rows = [...page.matchAll(/^\| (`Stoa[^|]*) \|/gm)].flatMap(([, cell]) => cell?.match(/Stoa\w+/g) ?? []);
  expect(rows.sort()).toEqual([...alerts].map(([, name]) => name).sort());
});

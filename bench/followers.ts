// What followers cost a writer: posts in a community that many follow and in one that nobody follows, alternately.
import { openBoard } from "./board.ts";
import { openAdmin, startService } from "./environment.ts";
import { median } from "./measure.ts";
import { watch } from "./memory.ts";
import { keyOf } from "./population.ts";
import { type Report, reportNotes } from "./report.ts";
import type { Run } from "./run.ts";

const followers = 10_000;
const pairs = 500;
const warmUpPairs = 50;
/** How much longer a post may take where there are followers. */
const maxRatio = 1.05;

export async function benchFollowers(run: Run): Promise<{ report: Report; text: string }> {
  const { started, options, log, signal, cleanUp } = run;
  const { address, machine } = await openBoard(run);
  const { child, memory } = await watch(startService(address, options, signal), cleanUp);
  const call = (path: string, body: object) => post(`${child.url}/api/v1/${path}`, body, signal);

  const suffix = started.toString(36);
  const [followed, quiet] = [`many-${suffix}`, `none-${suffix}`];
  for (const name of [followed, quiet]) await call("communities", { name, title: name });
  const admin = openAdmin(address);
  cleanUp.defer(() => admin.end());
  const values = Array.from({ length: followers }, (_, i) => `(${i + 1}, 'communities', @id, 0, ${started})`);
  await admin.query("SELECT id INTO @id FROM communities WHERE name = ?", [followed]);
  await admin.query(`INSERT INTO subscriptions VALUES ${values.join(", ")}`);
  cleanUp.defer(async () => void (await admin.query("DELETE FROM subscriptions WHERE target_id = @id")));
  log(`${followers} followers`);

  const timed = async (community: string) => {
    const began = performance.now();
    await call("posts", { title: "To whom it concerns", body: "A few words.", community });
    return performance.now() - began;
  };
  const times: { many: number; none: number }[] = [];
  for (let pair = 0; pair < warmUpPairs + pairs; pair++) {
    // Each comes first as often as second.
    const first = await timed(pair % 2 === 0 ? followed : quiet);
    const second = await timed(pair % 2 === 0 ? quiet : followed);
    if (pair >= warmUpPairs) times.push(pair % 2 === 0 ? { many: first, none: second } : { many: second, none: first });
  }
  const [many, none] = [median(times.map((each) => each.many)), median(times.map((each) => each.none))];
  const ratio = median(times.map((each) => each.many / each.none));
  const notes = [
    `a post takes ${many.toFixed(2)} ms with ${followers} followers and ${none.toFixed(2)} ms with none, in the median`,
    `the median ratio of ${pairs} pairs is ${ratio.toFixed(3)}`,
  ];
  const missed = ratio <= maxRatio ? [] : [`followers cost a post ${ratio.toFixed(3)}, not ${maxRatio} at most`];
  return reportNotes({ started, machine, options }, { residentMiB: memory.peak(), notes, missed });
}

async function post(url: string, body: object, signal: AbortSignal): Promise<void> {
  const headers = { authorization: `Bearer ${keyOf(1)}`, "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body), signal });
  const text = await response.text();
  if (response.status !== 201) throw new Error(`${url} is answered ${response.status}: ${text}`);
}

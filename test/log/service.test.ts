// The log of a service, from its writes to its checkpoints.
import { expect, it } from "vitest";
import { formatSignerKey } from "../../src/tlog/notes/signer-key.ts";
import { createDatabaseWithSchema } from "../support/database.ts";
import { beginTestLog, entriesOf, faultsOfLog, untilPublished } from "../support/log.ts";
import { startModerated } from "../support/moderation.ts";
import { waitUntil } from "../support/wait.ts";

it("two replicas with the key serve writes; what was acknowledged is in the log once, also after their stop", async () => {
  const db = await createDatabaseWithSchema();
  const boardLog = { mayBegin: true, origin: undefined, keyText: formatSignerKey(await beginTestLog(db)) };
  const services = [
    await startModerated({ db, config: { boardLog } }),
    await startModerated({ db, config: { boardLog } }),
  ];
  const made = await Promise.all(
    services.map(async (service) => {
      const author = await service.register();
      const ids: number[] = [];
      for (let n = 0; n < 100; n++) ids.push(await service.post(author));
      return ids;
    }),
  );
  const head = async () =>
    (await db.rows<{ size: number; signed: number }>("SELECT size, signed FROM log_head"))[0] ?? { size: 0, signed: 0 };
  await waitUntil("the first checkpoint of posts", async () => (await head()).signed > 100);
  // The last requests come right before the stop.
  const [one, other] = services.map(async (service) => service.post(await service.register()));
  made.push([(await one) as number, (await other) as number]);
  await Promise.all(services.map(({ app }) => app.close()));
  // A stop leaves what takes it more than a moment to the next start.
  await untilPublished(await startModerated({ db, config: { boardLog } }));
  const posts = (await entriesOf(db)).filter(({ type }) => type === "post").map(({ id }) => id);
  expect(posts.toSorted((a, b) => a - b)).toEqual(made.flat().toSorted((a, b) => a - b));
  expect(await faultsOfLog(db)).toEqual([]);
});

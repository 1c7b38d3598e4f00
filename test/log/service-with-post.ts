import { expect } from "vitest";
import { formatSignerKey } from "../../src/tlog/notes/signer-key.ts";
import { createDatabaseWithSchema } from "../support/database.ts";
import { beginTestLog, untilPublished } from "../support/log.ts";
import { type Service, startService } from "../support/service.ts";

/** A service with a log, and a post that the log has. @returns the id of the post, and the key of its author */
export async function startWithPost(): Promise<{ service: Service; post: number; key: string }> {
  const db = await createDatabaseWithSchema();
  const keyText = formatSignerKey(await beginTestLog(db));
  const service = await startService({ db, config: { boardLog: { mayBegin: true, origin: undefined, keyText } } });
  const { key } = await service.register();
  const { body } = await service.rest("posts", { key, body: { title: "A race", body: "Achilles" } });
  const post = body.post.id;
  await untilPublished(service);
  expect((await fetch(`${service.url}/api/v1/posts/${post}/proof`)).status).toBe(200);
  return { service, post, key };
}

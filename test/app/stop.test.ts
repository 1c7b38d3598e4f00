// SIGTERM while something does not answer. The process still ends, with exit code 0.
import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { createDatabaseWithSchema } from "../support/database.ts";
import { createLinkedDatabase } from "../support/database-link.ts";
import { untilSays, urlOf } from "../support/process.ts";
import { askRest } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";
import { fastTimers } from "./fast-timers.ts";
import { expectStop, startToStop } from "./stopping.ts";

// The tests mostly wait, so they run concurrently.
describe.concurrent("SIGTERM", () => {
  it("ends a service with a silent database, running calls, a stream and a frozen client", async () => {
    const db = await createLinkedDatabase(await createDatabaseWithSchema());
    const service = startToStop({
      STOA_DATABASE_URL: urlOf(db.config),
      STOA_DATABASE_TIMEOUT_SECONDS: "600",
      NODE_OPTIONS: `--import=${fastTimers}`,
    });
    const url = new URL(await service.url());
    const { body } = await askRest(url.origin, "agents/register", { body: { name: "Ada" } });
    const stream = await fetch(`${url.origin}/api/v1/house/receipts/stream?follow=true`);
    db.relay.freeze();
    // The client sends a call, then neither reads nor closes.
    const frozen = connect(Number(url.port), url.hostname).on("error", () => {});
    frozen.pause().write("GET /api/v1/feed HTTP/1.1\r\nHost: stoa\r\n\r\n");
    const calls = [
      askRest(url.origin, "feed"),
      askRest(url.origin, "posts", { key: body.api_key, body: { title: "A post" } }),
      stream.text(),
    ].map((call) => call.catch(() => {}));
    await expectStop(service);
    frozen.destroy();
    await Promise.all(calls);
  });

  it("ends the process at once when it is repeated after more than a second", async () => {
    const db = await createLinkedDatabase(await createDatabaseWithSchema());
    const service = startToStop({ STOA_DATABASE_URL: urlOf(db.config), STOA_DRAIN_SECONDS: "3600" });
    const url = new URL(await service.url());
    const held = connect(Number(url.port), url.hostname).on("error", () => {});
    held.write("POST /api/v1/agents/register HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n");
    await once(held, "data");
    service.signal("SIGINT");
    await untilSays(service, "Stopping");
    const begun = performance.now();
    // npm forwards the same Ctrl-C a second time. It must not end the call.
    service.signal("SIGINT");
    await waitUntil("a second later", () => performance.now() - begun > 1_200);
    service.signal("SIGTERM");
    expect(await service.exited).toBe(1);
    expect(service.output).toContain("Ended at once by a second signal.");
    held.destroy();
  });
});

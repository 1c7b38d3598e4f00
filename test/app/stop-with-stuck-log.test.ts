// SIGTERM while the log of the service is stuck: nobody reads it, or nobody can. The process still ends, with exit code 0.
import { describe, expect, it } from "vitest";
import { findPython } from "../../scripts/lib/python.mjs";
import { createDatabaseWithSchema } from "../support/database.ts";
import { freePort } from "../support/free-port.ts";
import { urlOf } from "../support/process.ts";
import { askRest } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";
import { expectStop, startToStop } from "./stopping.ts";

/** Runs a command on a terminal that shows nothing. */
const frozenTerminal = [
  findPython() ?? "python3",
  "-c",
  `import os, pty, sys
master, terminal = pty.openpty()
os.set_inheritable(master, True)
for output in (1, 2): os.dup2(terminal, output)
os.execvp(sys.argv[1], sys.argv[1:])`,
];

describe.concurrent("SIGTERM", () => {
  it("ends a service that kept serving although nobody reads its log, and then nobody can", async () => {
    const db = await createDatabaseWithSchema();
    const service = startToStop({ STOA_DATABASE_URL: urlOf(db.config), STOA_RATE_LIMITS: "off" });
    const url = await service.url();
    // The log grows by some 150 KB, more than a pipe holds.
    for (const [close, calls] of [
      [false, 500],
      [true, 10],
    ] as const) {
      service.leaveUnread({ close });
      for (let count = 0; count < calls; count++) expect((await askRest(url, "posts?limit=1")).status).toBe(200);
    }
    await expectStop(service);
  });

  it("ends a service that kept serving although its terminal is frozen", async () => {
    const db = await createDatabaseWithSchema();
    const port = String(await freePort());
    const service = startToStop({ STOA_DATABASE_URL: urlOf(db.config), STOA_PORT: port }, frozenTerminal);
    const url = `http://127.0.0.1:${port}`;
    await waitUntil("the service", () =>
      askRest(url, "/readyz").then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
    // The log grows by some 15 KB, more than a terminal holds.
    for (let count = 0; count < 50; count++) expect((await askRest(url, "posts?limit=1")).status).toBe(200);
    await expectStop(service);
  });
});

import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { certificate, connectHttp2, get, readStream, start } from "../../support/port.ts";

describe.each(["http", "https"])("many %s/2 sessions with many requests each", (scheme) => {
  it("are all answered", async () => {
    const tls = scheme === "https" ? certificate : undefined;
    const { number, port } = await start({ tls });
    const sessions = Array.from({ length: 12 }, () => connectHttp2(number, scheme));
    const asked = sessions.flatMap((session) =>
      Array.from({ length: 120 }, () => readStream(get(session, "/version"))),
    );
    const replies = await Promise.all(asked);
    expect(new Set(replies).size).toBe(1);
    expect(replies[0]).toContain("2.0");
    // The sessions are still read: a second round is answered, and they notice when their clients leave.
    await Promise.all(sessions.map((session) => readStream(get(session, "/version"))));
    const closed = sessions.map((session) => once(session, "close"));
    for (const session of sessions) session.close();
    await Promise.all(closed);
    while (port.connections.total > 0) await new Promise(setImmediate);
  });
});

// How often the streams of an HTTP/2 session may be reset.
import { describe, expect, it } from "vitest";
import { connectHttp2, get, readStream, start } from "../../support/port.ts";

/** More than a client may reset at once. */
const RESETS = 1_000;

describe("a session whose streams are reset again and again", () => {
  it.each([
    ["goes on if it is that of a proxy, which passes on what many clients cancel", true],
    ["ends if it is that of a client", false],
  ])("%s", async (_what, isProxy) => {
    const connections = { maxConnections: 10, maxConnectionsPerAddress: 10, countAs: String, isProxy: () => isProxy };
    const { number } = await start({ connections });
    const session = connectHttp2(number);
    session.on("error", () => {});
    for (let resets = 0; resets < RESETS && !session.closed && !session.destroyed; resets++) {
      const stream = get(session, "/held");
      await new Promise(setImmediate);
      stream.close(8);
    }
    const isOpen = !session.closed && !session.destroyed && (await isServed(session));
    expect(isOpen).toBe(isProxy);
  });
});

function isServed(session: ReturnType<typeof connectHttp2>): Promise<boolean> {
  return readStream(get(session, "/version")).then(
    () => true,
    () => false,
  );
}

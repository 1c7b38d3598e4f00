import { describe, expect, it } from "vitest";
import { answerStream, shownChain, startFake } from "../client/fake-stoa.ts";
import { listenHttp } from "../support/http-server.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { runStoa } from "./stoa.ts";

describe("stoa verify exits with 3 and gives no verdict", () => {
  const notChecked = (url: string) => ({
    status: 3,
    stdout: "",
    stderr: expect.stringMatching(new RegExp(`^stoa: ${url} could not be verified: .*\n$`)),
  });

  it("when nobody listens", async () => {
    const { url, close } = await listenHttp(() => {});
    await close();
    for (const more of [[], ["--follow"]]) {
      const run = await runStoa(["verify", url, ...more], scratchFolder());
      expect(run).toEqual(notChecked(url));
      expect(run.stderr).toContain("unreachable: the connection failed: ECONNREFUSED");
    }
    const json = await runStoa(["verify", url, "--json"], scratchFolder());
    expect(json).toMatchObject({ status: 3, stderr: "" });
    expect(JSON.parse(json.stdout)).toEqual({
      ok: null,
      url,
      from: 1,
      to: 0,
      count: 0,
      head: null,
      broken_at: null,
      reason: "unreachable: the connection failed: ECONNREFUSED",
      remembered: null,
      log: null,
      duration_ms: expect.any(Number),
    });
  });

  it.each([
    // One for each kind of answer; test/client/read-receipts.test.ts has more.
    [200, "<html>welcome</html>", "unusable: the answer is not a JSON object"],
    [200, '{"receipts":[{"seq":"1"}],"head_seq":1}', "unusable: this is not a receipt"],
    [500, "oops", "unavailable: the answer has status 500"],
    [404, '{"ok":false,"error":"not_found","message":"Nothing."}', "refused: the service says not_found: Nothing."],
    [404, '{"ok":false,"error":"not_found","message":"None.","field":"from"}', "unusable: the chain is empty"],
  ])("when the answer is %i %s", async (status, body, reason) => {
    const fake = await startFake([]);
    fake.intercept = (_, response) => !!response.writeHead(status).end(body);
    const run = await runStoa(["verify", fake.url], scratchFolder());
    expect(run).toEqual(notChecked(fake.url));
    expect(run.stderr).toContain(reason);
  });

  it("when the stream breaks off, after what was good so far", async () => {
    const fake = await startFake(shownChain(5));
    const lines = fake.receipts.slice(0, 3).map((receipt) => `${JSON.stringify(receipt)}\n`);
    answerStream(fake, ...lines, '{"seq":');
    const run = await runStoa(["verify", fake.url], scratchFolder());
    expect(run).toEqual(notChecked(fake.url));
    expect(run.stderr).toContain("unreachable: the stream was cut off within a line");
    expect(run.stderr).toContain("receipts 1 to 3 were good so far");
    const { stdout } = await runStoa(["verify", fake.url, "--json"], scratchFolder());
    expect(JSON.parse(stdout)).toMatchObject({ ok: null, to: 3, count: 3, broken_at: null });
  });
});

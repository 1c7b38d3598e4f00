import { spawnSync } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { verifyHelp } from "../../src/cli/verify/arguments.ts";
import { answerStream, shownChain, startFake } from "../client/fake-stoa.ts";
import { nodeEnvironment } from "../support/node-environment.ts";
import { runStoa, scratchFolder } from "./stoa.ts";

describe("stoa verify exits with 3 and gives no verdict", () => {
  const notChecked = (url: string) => ({
    status: 3,
    stdout: "",
    stderr: expect.stringMatching(new RegExp(`^stoa: ${url} could not be verified: .*\n$`)),
  });

  it("when nobody listens", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await new Promise((resolve) => server.close(resolve));
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
    [404, "<html>not here</html>", "unusable: the answer has status 404 and is not a Stoa's"],
    [200, "<html>welcome</html>", "unusable: the answer is not a JSON object"],
    [200, "", "unusable: the answer is not a JSON object"],
    [200, '{"receipts":[{"seq":"1"}],"head_seq":1}', "unusable: this is not a receipt"],
    [500, "oops", "unavailable: the answer has status 500"],
    [503, '{"ok":false,"error":"unavailable","message":"Later."}', "unavailable: the service says unavailable: Later."],
    [404, '{"ok":false,"error":"not_found","message":"Nothing."}', "refused: the service says not_found: Nothing."],
    [404, '{"ok":false,"error":"not_found","message":"None.","field":"from"}', "unusable: the chain is empty"],
  ])("when the answer is %i %s", async (status, body, reason) => {
    const fake = await startFake([]);
    fake.intercept = (_, response) => !!response.writeHead(status).end(body);
    const run = await runStoa(["verify", fake.url], scratchFolder());
    expect(run).toEqual(notChecked(fake.url));
    expect(run.stderr).toContain(reason);
  });

  it.each([
    ["garbage", "%PDF-1.7\n", "unusable: a line of the stream is not JSON"],
    [
      "the end of the service",
      '{"ok":false,"error":"unavailable","message":"Stop."}\n',
      "unavailable: the service says",
    ],
    ["half a line", '{"seq":', "unreachable: the stream was cut off within a line"],
  ])("when %s comes in the middle of the stream", async (_, bytes, reason) => {
    const fake = await startFake(shownChain(5));
    const lines = fake.receipts.slice(0, 3).map((receipt) => `${JSON.stringify(receipt)}\n`);
    answerStream(fake, ...lines, bytes);
    const run = await runStoa(["verify", fake.url], scratchFolder());
    expect(run).toEqual(notChecked(fake.url));
    expect(run.stderr).toContain(reason);
    expect(run.stderr).toContain("receipts 1 to 3 were good so far");
    const { stdout } = await runStoa(["verify", fake.url, "--json"], scratchFolder());
    expect(JSON.parse(stdout)).toMatchObject({ ok: null, to: 3, count: 3, broken_at: null });
  });
});

describe("the command line", () => {
  it("prints its help", async () => {
    expect(await runStoa(["--help"], "/")).toMatchObject({ status: 0, stdout: expect.stringContaining("stoa verify") });
    expect(await runStoa(["verify", "--help"], "/")).toEqual({ status: 0, stdout: verifyHelp, stderr: "" });
    expect(await runStoa(["verify", "-h"], "/")).toEqual({ status: 0, stdout: verifyHelp, stderr: "" });
  });

  it("prints its help without a command as well, but fails", async () => {
    expect(await runStoa([], "/")).toMatchObject({
      status: 2,
      stdout: "",
      stderr: expect.stringContaining("stoa verify"),
    });
  });

  const url = "http://127.0.0.1:1";
  it.each([
    [["veryfy", url], 'there is no command "veryfy"'],
    [["verify"], "the URL is missing"],
    [["verify", url, url], "there is more than one URL"],
    [["verify", "stoa.example"], "the URL cannot be used: it is not an http or https address"],
    [["verify", "http://a:b@stoa.example"], "the URL cannot be used: it holds a user name or a password"],
    [["verify", "http://stoa.example/?x"], "the URL cannot be used: it has a query or a fragment"],
    [["verify", url, "--form", "1"], "Unknown option '--form'"],
    [["verify", url, "--from"], "'--from <value>' argument missing"],
    [["verify", url, "--from", "first"], '--from must be the seq of a receipt or "last", not "first"'],
    [["verify", url, "--from=-1"], '--from must be the seq of a receipt or "last", not "-1"'],
    [["verify", url, "--from", "9007199254740992"], '--from must be the seq of a receipt or "last"'],
    [["verify", url, "--follow=yes"], "'--follow' does not take an argument"],
    [["verify", url, "--state="], "--state is empty"],
  ])("refuses %j", async (args, reason) => {
    const { status, stdout, stderr } = await runStoa(args, "/");
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toContain(reason);
    expect(stderr).toMatch(/^stoa: .*; see stoa verify --help\n$/);
  });

  it("names all commands of the checkout there", () => {
    const program = fileURLToPath(new URL("../../src/operator/main.ts", import.meta.url));
    const { status, stderr } = spawnSync(process.execPath, [program, "foo"], {
      encoding: "utf8",
      env: nodeEnvironment,
    });
    expect(status).toBe(2);
    expect(stderr).toContain(
      'stoa: there is no command "foo"; the commands are backup, restore, fsck, recover, seal, keygen, verify, prove, mirror, moderate\n',
    );
  });
});

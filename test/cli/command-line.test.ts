// What every command does with its arguments, before it reads or does anything.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { mirrorHelp } from "../../src/cli/mirror/arguments.ts";
import { moderateHelp } from "../../src/cli/moderate/help.ts";
import { proveHelp } from "../../src/cli/prove/arguments.ts";
import { verifyHelp } from "../../src/cli/verify/arguments.ts";
import { nodeEnvironment } from "../support/node-environment.ts";
import { runStoa } from "./stoa.ts";

const url = "http://127.0.0.1:1";

describe("the command line", () => {
  it("prints its help", async () => {
    expect(await runStoa(["--help"], "/")).toMatchObject({ status: 0, stdout: expect.stringContaining("stoa verify") });
  });

  it("prints its help without a command as well, but fails", async () => {
    expect(await runStoa([], "/")).toMatchObject({
      status: 2,
      stdout: "",
      stderr: expect.stringContaining("stoa verify"),
    });
  });

  it.each([
    ["verify", verifyHelp],
    ["prove", proveHelp],
    ["mirror", mirrorHelp],
    ["moderate", moderateHelp],
  ])("prints the help of stoa %s", async (command, help) => {
    for (const args of [["--help"], [url, "remove", "-h"]]) {
      expect(await runStoa([command, ...args], "/")).toEqual({ status: 0, stdout: help, stderr: "" });
    }
  });

  // What every command refuses is shown of one of them.
  it.each<[string, string[], string | RegExp]>([
    ["veryfy", [url], 'there is no command "veryfy"'],
    ["verify", [], "the URL is missing"],
    ["verify", [url, url], "there is more than one URL"],
    ["verify", ["stoa.example"], "the URL cannot be used: it is not an http or https address"],
    ["verify", ["http://a:b@stoa.example"], "the URL cannot be used: it holds a user name or a password"],
    ["verify", ["http://stoa.example/?x"], "the URL cannot be used: it has a query or a fragment"],
    ["verify", [url, "--form", "1"], "Unknown option '--form'"],
    ["verify", [url, "--from"], "'--from <value>' argument missing"],
    ["verify", [url, "--from", "first"], '--from must be the seq of a receipt or "last", not "first"'],
    ["verify", [url, "--from", "9007199254740992"], '--from must be the seq of a receipt or "last"'],
    ["verify", [url, "--state="], "--state is empty"],
    ["mirror", [url], "the folder is missing"],
    ["mirror", [url, "a", "b"], "there is more than a URL and a folder"],
    ["mirror", [url, "a", "--log-key", "stoa.example"], "--log-key cannot be used: the key is not name+id+base64"],
    ["prove", [url, "votes/1"], 'this is not the address of an item: "votes/1"'],
    ["prove", [url, "posts/01"], 'this is not a number: "01"'],
    ["prove", [url, "log/entries/9007199254740992"], "this is not a number: "],
    ["prove", [url, "agents/%"], 'this is not a name: "%"'],
    ["prove", [url, "posts/1", "posts/2"], "there is more than a URL and an item"],
    ["prove", [url, "agents/Zeno", "--removal"], "--removal is of posts and comments"],
    ["prove", ["--offline", "x"], "--policy is missing"],
    ["prove", ["--offline", "x", "--policy", "/nonexistent"], "/nonexistent cannot be read: ENOENT"],
    ["prove", ["--offline", "x", "--policy", "/dev/null"], "/dev/null is not a policy: "],
    ["prove", [url, "--offline", "x"], "with --offline there is no URL"],
    // Others on the machine may see arguments.
    ["moderate", [url, "reports", "--token", "x"], /Unknown option '--token'/],
    ["moderate", [url], /the act is missing/],
    ["moderate", [url, "delete", "post", "1"], /there is no act "delete"/],
    ["moderate", [url, "toString"], /there is no act "toString"/],
    ["moderate", [url, "remove", "post", "1"], /--reason is missing/],
    [
      "moderate",
      [url, "remove", "post", "1", "--reason", "boredom"],
      /--reason must be one of .*spam.*, not "boredom"/,
    ],
    [
      "moderate",
      [url, "remove", "post", "one", "--reason", "spam"],
      /the id of the post must be a whole number from 1 on, not "one"/,
    ],
    ["moderate", [url, "remove", "agent", "1", "--reason", "spam"], /say post or comment, and its id/],
    ["moderate", [url, "suspend", "Zeno", "--reason", "spam", "--until", "soon"], /--until must be a date/],
    ["moderate", [url, "suspend", "Zeno", "--reason", "spam", "--until", "2026-02-31"], /--until must be a date/],
    ["moderate", [url, "restore", "post", "1", "--content"], /restore has no option --content/],
    ["moderate", [url, "unsuspend", "Zeno", "Kleanthes"], /there is one argument too many: "Kleanthes"/],
    ["moderate", [url, "community", "general"], /say what to change/],
    ["moderate", [url, "record", "--act", "forgive"], /--act must be one of .*, not "forgive"/],
  ])("refuses %s %j", async (command, args, reason) => {
    const { status, stdout, stderr } = await runStoa([command, ...args], "/");
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toMatch(reason);
    const known = command === "veryfy" ? "verify" : command;
    expect(stderr).toMatch(new RegExp(`^stoa: [^\n]*; see stoa ${known} --help\n$`));
  });

  const program = fileURLToPath(new URL("../../src/operator/main.ts", import.meta.url));

  it.each([
    [2, ["fsck", "--fix"]],
    [3, ["fsck"]],
    [3, ["verify", url]],
  ])("exits with %i from %j though nobody reads why", async (status, args) => {
    const env = { ...nodeEnvironment, STOA_DATA_DIR: "/nonexistent" };
    const child = spawn(process.execPath, [program, ...args], { env });
    child.stderr.destroy();
    expect(await once(child, "close")).toEqual([status, null]);
  });

  it("names all commands of the checkout there", () => {
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

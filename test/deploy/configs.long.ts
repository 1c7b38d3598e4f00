// npm run test:proxies: what the programs themselves say of the examples in deploy/.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { scratchFolder } from "../support/scratch-folder.ts";
import { examples } from "./examples.ts";
import { makeSite } from "./site.ts";

const deploy = fileURLToPath(new URL("../../deploy/", import.meta.url));

function run(command: [string, ...string[]], env: Record<string, string> = {}) {
  const [program, ...args] = command;
  const path = `${process.env.PATH}:/usr/sbin`;
  return spawnSync(program, args, { env: { PATH: path, HOME: tmpdir(), ...env }, encoding: "utf8" });
}

it("caddy validate says what is missing without STOA_SITE, and nothing with it", () => {
  const args = ["validate", "--adapter", "caddyfile", "--config", `${deploy}caddy/Caddyfile`];
  const { status, stderr } = run(["caddy", ...args]);
  expect(status).toBe(1);
  expect(stderr).toContain("STOA_SITE-is-not-set");
  expect(run(["caddy", ...args], { STOA_SITE: "board.example" })).toMatchObject({ status: 0 });
});

it("haproxy accepts one name for all replicas", async () => {
  const { site } = await makeSite(["127.0.0.1:1", "127.0.0.1:2"], 1);
  const path = join(site.folder, "config");
  writeFileSync(path, examples.HAProxy.config(site));
  const checked = run(["haproxy", "-c", "-f", path], { STOA_REPLICAS: "localhost:8080" });
  expect(checked.status, checked.stderr).toBe(0);
});

it("nft accepts the rules, also when they are loaded already", () => {
  const twice = join(scratchFolder(), "twice");
  writeFileSync(twice, readFileSync(`${deploy}nftables/stoa.nft`, "utf8").repeat(2));
  const checked = run(["unshare", "--net", "nft", "-f", twice]);
  expect(checked.stderr).toBe("");
  expect(checked.status).toBe(0);
});

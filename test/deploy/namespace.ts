import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterFile } from "../support/after-file.ts";

/**
 * Makes a network of its own, with nothing but loopback. An attack in it takes no ports from others, and may be met by the
 * rules of a firewall. It needs root. It is gone after the last test of the file.
 * @param rules a file for nftables, which is loaded there
 * @returns the beginning of a command that runs another one there
 */
export async function makeNetwork(rules?: string): Promise<string[]> {
  const load = rules === undefined ? "true" : `nft -f '${rules}'`;
  const script = `ip link set lo up && ${load} && echo made && exec sleep infinity`;
  const child = spawn("unshare", ["--net", "sh", "-c", script], { stdio: ["ignore", "pipe", "pipe"] });
  const exited = once(child, "exit").catch((error: Error) => error.message);
  afterFile(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    said += text;
  });
  const made = once(child.stdout, "data").then(() => true);
  if ((await Promise.race([made, exited])) !== true) {
    throw new Error(`a network of its own cannot be made (${said.trim()}); this needs root, unshare, ip and nft`);
  }
  return ["nsenter", `--net=/proc/${child.pid}/ns/net`];
}

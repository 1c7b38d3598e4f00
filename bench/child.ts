import { spawn } from "node:child_process";

export interface Child {
  pid: number;
  /** The address that it printed. */
  url: string;
  /** Ends it, and resolves when it is gone. */
  stop(): Promise<void>;
  /** Why the program ended by itself, if it did. */
  failure(): string | undefined;
}

const startMs = 60_000;
const stopMs = 20_000;

/**
 * Starts a program with this Node.js and waits until it prints a line with its http address.
 * @param environment its variables, besides PATH and HOME
 */
export async function startChild(
  name: string,
  args: string[],
  environment: Record<string, string>,
  signal: AbortSignal,
): Promise<Child> {
  signal.throwIfAborted();
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(process.execPath, args, {
    env: { PATH, HOME, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
    // The program has its own process group, so Ctrl-C reaches only the bench, which then stops the program.
    detached: true,
  });
  let output = "";
  const keep = (chunk: Buffer) => {
    output = (output + chunk).slice(-4_000);
  };
  child.stderr.on("data", keep);
  const exited = new Promise<void>((resolve) => {
    child.once("error", (error) => {
      keep(Buffer.from(error.message));
      resolve();
    });
    child.once("exit", () => resolve());
  });
  let stopping = false;
  let gone = false;
  void exited.then(() => {
    gone = true;
  });
  const stop = async () => {
    stopping = true;
    if (gone) return;
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), stopMs);
    await exited;
    clearTimeout(timer);
  };
  const url = await new Promise<string | undefined>((resolve) => {
    const timer = setTimeout(() => resolve(undefined), startMs);
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
    void exited.then(() => resolve(undefined));
    child.stdout.on("data", (chunk: Buffer) => {
      keep(chunk);
      const found = /https?:\/\/\S+/.exec(output);
      if (found) resolve(found[0]);
    });
    void exited.then(() => clearTimeout(timer));
  });
  if (url === undefined) {
    await stop();
    signal.throwIfAborted();
    throw new Error(`${name} did not start: ${output.trim()}`);
  }
  return {
    pid: child.pid as number,
    url,
    stop,
    failure: () => (gone && !stopping ? `${name} ended: ${output.trim()}` : undefined),
  };
}

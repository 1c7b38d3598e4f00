import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterFile } from "./after-file.ts";
import { nodeEnvironment } from "./node-environment.ts";

/** A module as a process of its own, which tells things. It ends when it is left, after the last test of the file at the latest. */
export class Script<Message> {
  /** What it has told so far. */
  readonly said: Message[] = [];
  readonly #child: ChildProcess;

  /** @param within a command that runs it, such as `nsenter` */
  constructor(module: URL, args: string[], within: readonly string[] = []) {
    const flags = ["--disable-warning=ExperimentalWarning"];
    const [program, ...all] = [...within, process.execPath, ...flags, fileURLToPath(module), ...args];
    const stdio = ["ignore", "inherit", "inherit", "ipc"] as const;
    this.#child = spawn(program as string, all, { env: nodeEnvironment, stdio: [...stdio] });
    this.#child.on("message", (message) => this.said.push(message as Message));
    afterFile(() => this.leave());
  }

  /** Resolves with what it tells next. @throws Error if it ends instead */
  next(): Promise<Message> {
    return nextMessage(this.#child);
  }

  /** Asks for something, and resolves with the answer. */
  ask(what: string): Promise<Message> {
    const answer = this.next();
    this.#child.send(what);
    return answer;
  }

  async leave(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    if (this.#child.connected) this.#child.disconnect();
    await exited;
  }
}

/** Resolves with what a process tells next. @throws Error if it ends instead */
export function nextMessage<Message>(child: ChildProcess): Promise<Message> {
  return new Promise((resolve, reject) => {
    const onExit = () => reject(new Error("the process has ended"));
    child.once("exit", onExit);
    child.once("message", (message) => {
      child.off("exit", onExit);
      resolve(message as Message);
    });
  });
}

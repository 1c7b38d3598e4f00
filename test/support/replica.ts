import { freePort } from "./free-port.ts";
import { ServiceProcess } from "./process.ts";

/** The service at an address of its own, where it can be ended and started again. */
export class Replica {
  readonly url: string;
  /** The newest process, whether it runs or has ended. */
  process: ServiceProcess;
  readonly #settings: Record<string, string>;

  private constructor(port: number, settings: Record<string, string>) {
    this.url = `http://127.0.0.1:${port}`;
    this.#settings = { ...settings, STOA_PORT: String(port) };
    this.process = new ServiceProcess(this.#settings);
  }

  /** Begins to start it at a free port. @param settings the environment variables, besides the port */
  static async begin(settings: Record<string, string>): Promise<Replica> {
    return new Replica(await freePort(), settings);
  }

  /** Begins to start it again. */
  beginAgain(): void {
    this.process = new ServiceProcess(this.#settings);
  }

  /** Starts it again, and resolves when it is up. */
  async startAgain(deadlineMs?: number): Promise<void> {
    this.beginAgain();
    await this.process.url(deadlineMs);
  }

  /** Ends it whatever it does. */
  async end(signal: "SIGKILL" | "SIGINT" | "SIGTERM"): Promise<void> {
    await this.process.end(signal);
  }
}

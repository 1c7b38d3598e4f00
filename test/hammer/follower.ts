import { setTimeout as sleep } from "node:timers/promises";
import type { World } from "./world.ts";

/** Follows the inbox of an agent by its stream, and connects again wherever a connection ends. */
export class Follower {
  readonly name: string;
  /** The ids of the items that came. */
  readonly seen = new Set<number>();
  readonly #world: World;
  readonly #finishing = new AbortController();
  /** The lowest id that may still come. */
  #next = 1;

  constructor(name: string, world: World) {
    this.name = name;
    this.#world = world;
  }

  /** Follows until `finish`, and then reads what is left. */
  async run(): Promise<void> {
    const { signal } = this.#finishing;
    while (!signal.aborted) {
      // Sometimes it goes away by itself.
      const leaving = AbortSignal.timeout(500 + this.#world.random.below(5_000));
      await this.#listen(true, AbortSignal.any([signal, leaving]));
      await sleep(this.#world.random.below(100));
    }
    while (!(await this.#listen(false, new AbortController().signal))) await sleep(50);
  }

  finish(): void {
    this.#finishing.abort();
  }

  /** @returns whether the stream ended as it should */
  async #listen(follow: boolean, signal: AbortSignal): Promise<boolean> {
    const { done, random, urls } = this.#world;
    const key = done.agents.get(this.name);
    if (key === undefined) return false;
    const url = `${random.pick(urls())}/api/v1/agents/me/inbox/stream?from=${this.#next}&follow=${follow}`;
    try {
      const response = await fetch(url, { headers: { authorization: `Bearer ${key}` }, signal });
      if (response.status !== 200) {
        // The key may just have been replaced, and the service or its database may be down.
        if (![401, 503].includes(response.status)) this.#fault(`${response.status} ${await response.text()}`);
        else await response.body?.cancel();
        return false;
      }
      let text = "";
      for await (const part of (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
        text += part;
        const lines = text.split("\n");
        text = lines.pop() as string;
        for (const line of lines) if (line !== "" && !this.#take(JSON.parse(line))) return false;
      }
      return text === "";
    } catch (error) {
      if (error instanceof SyntaxError) this.#fault(String(error));
      return false;
    }
  }

  /** @returns false for the error at the end of a stream */
  #take(line: { ok?: false; error?: string; id: number; agent: string | null }): boolean {
    if (line.ok === false) {
      if (!["unauthorized", "unavailable"].includes(line.error ?? "")) this.#fault(JSON.stringify(line));
      return false;
    }
    if (line.id < this.#next) this.#fault(`item ${line.id} came after item ${this.#next - 1}`);
    if (line.agent === this.name) this.#fault(`item ${line.id} is about its own words`);
    this.seen.add(line.id);
    this.#next = line.id + 1;
    return true;
  }

  #fault(what: string): void {
    this.#world.done.faults.push(`the stream of ${this.name}: ${what}`);
  }
}

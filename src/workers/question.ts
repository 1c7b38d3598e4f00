import { createDeferred, type Deferred } from "../timing/wait.ts";

/** A question to another process. Those who ask while it is open share its answer. */
export class Question<Answer> {
  readonly #ask: () => void;
  readonly #timeoutMs: number;
  readonly #silence: string;
  #open: Deferred<Answer> | undefined;

  /**
   * @param ask sends the question
   * @param timeoutMs how long the answer may take, in milliseconds
   * @param silence the message of the error when it does not come
   */
  constructor(ask: () => void, timeoutMs: number, silence: string) {
    this.#ask = ask;
    this.#timeoutMs = timeoutMs;
    this.#silence = silence;
  }

  /** @throws Error when the answer does not come in time, or is a refusal */
  answer(): Promise<Answer> {
    if (this.#open === undefined) {
      this.#open = createDeferred<Answer>({
        ms: this.#timeoutMs,
        onTimeout: ({ reject }) => reject(new Error(this.#silence)),
        onSettled: () => {
          this.#open = undefined;
        },
      });
      this.#ask();
    }
    return this.#open.promise;
  }

  /** The answer has come. */
  resolve(answer: Answer): void {
    this.#open?.resolve(answer);
  }

  /** The other process cannot answer. */
  reject(error: Error): void {
    this.#open?.reject(error);
  }
}

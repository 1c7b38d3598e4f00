/** The parts of a terminal that the progress line needs. */
interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** The least time between two drawings of the line, in milliseconds. */
const drawMs = 100;

/** A line on a terminal that shows the progress of a command. Without a terminal it shows nothing. */
export class Progress {
  readonly #terminal: Terminal;
  readonly #noun: string;
  readonly #now: () => number;
  readonly #begun: number;
  #drawn = Number.NEGATIVE_INFINITY;
  #visible = false;

  /** @param noun what is counted. @param now gives milliseconds from any origin */
  constructor(terminal: Terminal, noun: string, now: () => number = () => performance.now()) {
    this.#terminal = terminal;
    this.#noun = noun;
    this.#now = now;
    this.#begun = now();
  }

  /** `done` of `total` are done. */
  show(done: number, total: number): void {
    const now = this.#now();
    if (!this.#terminal.isTTY || now - this.#drawn < drawMs) return;
    this.#drawn = now;
    this.#visible = true;
    // A terminal that does not know its size says 0.
    const line = progressLine(done, total, this.#noun, now - this.#begun, this.#terminal.columns || 80);
    this.#terminal.write(`\r\x1b[2K${line}`);
  }

  /** Removes the line, so that other lines can be written. */
  clear(): void {
    if (this.#visible) this.#terminal.write("\r\x1b[2K");
    this.#visible = false;
  }
}

/** `[#####.....] 1,200 of 2,400 receipts, 600/s, 0:02 left`, not longer than the terminal is wide. */
function progressLine(done: number, total: number, noun: string, elapsedMs: number, columns: number): string {
  const share = total === 0 ? 1 : Math.min(done / total, 1);
  const rate = elapsedMs > 0 ? (done / elapsedMs) * 1000 : 0;
  const left = rate > 0 ? `, ${clock((total - done) / rate)} left` : "";
  const text = `${count(done)} of ${count(total)} ${noun}, ${count(rate)}/s${left}`;
  const width = Math.min(40, columns - text.length - 4);
  if (width < 5) return text.slice(0, Math.max(columns - 1, 0));
  const filled = Math.floor(share * width);
  return `[${"#".repeat(filled)}${".".repeat(width - filled)}] ${text}`;
}

function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

function clock(seconds: number): string {
  const whole = Math.max(0, Math.ceil(seconds));
  const parts = [Math.floor(whole / 60) % 60, whole % 60].map((part) => String(part).padStart(2, "0"));
  const hours = Math.floor(whole / 3600);
  return hours > 0 ? `${hours}:${parts.join(":")}` : `${Number(parts[0])}:${parts[1]}`;
}

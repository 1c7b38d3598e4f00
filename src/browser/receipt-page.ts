// The verification on the page of a receipt. The page works without it.
import { find, showVerdict } from "./elements.ts";
import { BeyondHead, DoesNotVerify, type Extent, type Verified, verifyFrom } from "./verification.ts";

/** How often the progress is updated, in milliseconds. */
const progressMs = 100;

const section = find(document, "#verification", HTMLElement);
const actions = find(section, ".actions", HTMLElement);
const cancel = find(section, ".cancel", HTMLButtonElement);
const buttons = [...section.querySelectorAll<HTMLButtonElement>("button[data-extent]")];
const progress = find(section, "progress", HTMLProgressElement);
const verdict = find(section, ".verdict", HTMLElement);
/** The root address of the service, which may have a path: two levels above the address of the page. */
const root = new URL("../..", location.href).href;
const shown = { seq: Number(section.dataset.seq), hash: section.dataset.hash ?? "" };

const fallback = find(section, ".fallback", HTMLElement);
if (globalThis.crypto?.subtle === undefined) {
  fallback.textContent =
    "This browser computes hashes only for pages that come over https or from this machine, and this one does not. " +
    "The commands below do the same.";
} else {
  fallback.hidden = true;
  actions.hidden = false;
  for (const button of buttons) button.addEventListener("click", () => run(button.dataset.extent as Extent));
}

async function run(extent: Extent): Promise<void> {
  const controller = new AbortController();
  const stop = () => controller.abort(new DOMException("cancelled", "AbortError"));
  cancel.addEventListener("click", stop);
  setRunning(true);
  showVerdict(verdict, "", "Verifying…");
  // The number of receipts up to the newest one is not known yet.
  if (extent === "head") progress.removeAttribute("value");
  else progress.max = extent === "start" ? shown.seq : 1;
  let good = 0;
  let shownAt = 0;
  const began = performance.now();
  try {
    const verified = await verifyFrom(root, shown, extent, controller.signal, (seq) => {
      good = seq;
      if (performance.now() - shownAt < progressMs) return;
      shownAt = performance.now();
      if (extent === "start") progress.value = seq;
      showVerdict(verdict, "", `Verifying… receipt ${seq.toLocaleString("en")} is good.`);
    });
    showVerdict(verdict, "good", "It verifies", ...describeVerified(verified, performance.now() - began));
  } catch (error) {
    showVerdict(verdict, ...describeFailure(error, good, controller.signal));
  } finally {
    cancel.removeEventListener("click", stop);
    setRunning(false);
  }
}

function describeVerified({ from, to, hash }: Verified, ms: number): string[] {
  const many = to - from + 1;
  const what =
    many === 1
      ? `The hash of receipt ${to} was recomputed in this browser, and ${to === 1 ? "it is the first." : "that of the receipt before, which it names."}`
      : `The hashes of receipts ${from} to ${to}, ${many.toLocaleString("en")} in all, were recomputed in this browser, in ${(ms / 1000).toFixed(1)} s. Each names the one before.`;
  return [
    what,
    `Receipt ${to} has the hash ${hash}. Keep it: no changed chain can have this hash again.`,
    "Not proved: that others are shown the same chain, that what was sealed is true, and that the code of this page, which " +
      "came from the same server, is what it says. stoa verify relies on none of it.",
  ];
}

function describeFailure(error: unknown, good: number, signal: AbortSignal): [string, string, ...string[]] {
  if (error instanceof DoesNotVerify) {
    return [
      "bad",
      "It does not verify",
      `Receipt ${error.seq} is the first that does not: ${error.message}.`,
      error.fault,
    ];
  }
  if (signal.aborted) {
    return ["", "Cancelled", good === 0 ? "Nothing was verified." : `Up to receipt ${good} everything was good.`];
  }
  // A service that cannot be read proves nothing about its chain.
  const why = error instanceof Error ? error.message : String(error);
  const about = error instanceof BeyondHead ? "The chain ends before this receipt" : "The receipts could not be read";
  return ["", "Not verified", `${about}: ${why}.`, "This says neither that the chain is good nor that it is not."];
}

function setRunning(isRunning: boolean): void {
  for (const button of buttons) button.disabled = isRunning;
  cancel.hidden = !isRunning;
  progress.hidden = !isRunning;
  section.setAttribute("aria-busy", String(isRunning));
}

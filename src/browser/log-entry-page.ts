// The check on the page of an entry of the log. The page works without it.
import { find, showVerdict } from "./elements.ts";
import { type CheckedEntry, checkEntry, LogFinding, type RememberedLog } from "./log-entry-check.ts";

/** Where the browser remembers the log of this site. */
const memoryName = "stoa-log";

const section = find(document, "#verification", HTMLElement);
const actions = find(section, ".actions", HTMLElement);
const button = find(section, ".check", HTMLButtonElement);
const verdict = find(section, ".verdict", HTMLElement);
const fallback = find(section, ".fallback", HTMLElement);
/** The root address of the service, which may have a path: two levels above the address of the page. */
const root = new URL("../..", location.href).href;
const { index = "", entry = "", vkey = "" } = section.dataset;

if (globalThis.crypto?.subtle === undefined) {
  fallback.textContent =
    "This browser checks signatures only for pages that come over https or from this machine, and this one does not. " +
    "The command below does the same.";
} else {
  fallback.hidden = true;
  actions.hidden = false;
  button.addEventListener("click", () => void run());
}

async function run(): Promise<void> {
  button.disabled = true;
  section.setAttribute("aria-busy", "true");
  showVerdict(verdict, "", "Checking…");
  try {
    const checked = await checkEntry(
      root,
      { index: Number(index), entry, vkey },
      recall(),
      new AbortController().signal,
    );
    localStorage.setItem(memoryName, JSON.stringify(checked.memory));
    showVerdict(verdict, "good", "The proof is good", ...describe(checked));
  } catch (error) {
    showVerdict(verdict, ...describeFailure(error));
  } finally {
    button.disabled = false;
    section.setAttribute("aria-busy", "false");
  }
}

function describe({ size, rememberedSize, content }: CheckedEntry): string[] {
  return [
    `Entry ${index} is in the tree of ${size.toLocaleString("en")} entries that the log has signed.`,
    ...(content === undefined ? [] : [`It commits to this text: ${JSON.stringify(content)}`]),
    rememberedSize === undefined
      ? "This browser remembers that tree and the key from now on."
      : `This tree extends the one of ${rememberedSize.toLocaleString("en")} entries that this browser remembered.`,
    "Not proved: that others are shown the same log, and that the code of this page, which came from the operator, is what " +
      "it says. A script of the operator's cannot convict the operator; stoa prove can.",
  ];
}

function describeFailure(error: unknown): [string, string, ...string[]] {
  if (error instanceof LogFinding) return ["bad", "It does not verify", `${error.message}.`, error.fault];
  const why = error instanceof Error ? error.message : String(error);
  return ["", "Not checked", `The log could not be read, or this browser has no Ed25519: ${why}.`];
}

/** What this browser remembers of the log; undefined at the first visit, or if something else stands there. */
function recall(): RememberedLog | undefined {
  const { vkey, checkpoint } = parseMemory(localStorage.getItem(memoryName) ?? "");
  return typeof vkey === "string" && typeof checkpoint === "string" ? { vkey, checkpoint } : undefined;
}

function parseMemory(text: string): Partial<RememberedLog> {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

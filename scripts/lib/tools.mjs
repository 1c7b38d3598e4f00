// The tools that the tests need besides the npm packages. The tests run the documentation's commands in a shell, read the pages
// in a browser, compile the contract with protoc, run the examples in Python and Go, and compare the transparency log with that of Go.
import { findServer } from "../../src/private-database/server/find-server.mjs";
import { findClient } from "../../src/process/programs.mjs";
import { aptInstall, hasCommand, systemInstallAllowed } from "./apt.mjs";
import { findChromium } from "./chromium.mjs";
import { findFaketime } from "./faketime.mjs";
import { findGoPackages } from "./go.mjs";
import { findPython } from "./python.mjs";

/** Each tool by the name of its Debian package, with a check for it. */
const tools = {
  curl: () => hasCommand("curl"),
  jq: () => hasCommand("jq"),
  chromium: () => findChromium() !== undefined,
  // On systems that cannot preload it, the tests that need it are skipped.
  libfaketime: () => process.platform !== "linux" || findFaketime() !== undefined,
  "protobuf-compiler": () => hasCommand("protoc"),
  "golang-go": () => hasCommand("go"),
  "golang-golang-x-mod-dev": () => findGoPackages() !== undefined,
  "python3-grpcio": () => findPython() !== undefined,
  // MySQL's own client cannot be installed everywhere. The tests that need it say so.
  "mariadb-client": () => findServer()?.flavour !== "mariadb" || findClient("dump", "mariadb") !== undefined,
};

/** Makes sure that the tools are installed. @throws Error that says what to install */
export async function ensureTools() {
  const missing = Object.entries(tools).flatMap(([name, isThere]) => (isThere() ? [] : [name]));
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0 || !hasCommand("apt-get") || !systemInstallAllowed(process.env)) {
    const packages = missing.map((name) => (name === "chromium" ? "chromium (or Google Chrome)" : name));
    const command = `Debian, Ubuntu: sudo apt-get install --no-install-recommends ${missing.join(" ")}`;
    throw new Error(`the tests need ${packages.join(" and ")}; install what is missing (${command})`);
  }
  await aptInstall(missing, "the tests need more tools");
}

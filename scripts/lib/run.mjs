import { spawn } from "node:child_process";

/**
 * Runs a program without showing its output.
 * @throws Error with the first and last lines of the output when the program fails
 */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    const collect = (chunk) => {
      output += chunk;
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    child.once("error", (error) => reject(new Error(`${command} cannot be run (${error.code ?? error.message})`)));
    child.once("close", (code, signal) => {
      if (code === 0) return resolve(output);
      const how = signal ?? `exit code ${code}`;
      reject(new Error([`${[command, ...args].join(" ")} failed (${how})`, ...ends(output)].join("\n  ")));
    });
  });
}

/** The first and the last lines: npm prints the cause of a failure first, apt-get prints it last. */
function ends(output) {
  const lines = output.split("\n").filter((line) => line.trim() !== "");
  return lines.length <= 12 ? lines : [...lines.slice(0, 6), "…", ...lines.slice(-5)];
}

export function say(line) {
  console.error(`stoa set-up: ${line}`);
}

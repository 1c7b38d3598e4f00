import { startApp } from "./app.ts";
import { readConfig } from "./config.ts";

try {
  const app = await startApp(readConfig(process.env));
  process.stdout.write(`Stoa answers at ${app.url}\n`);
  let stopping = false;
  const stop = () => {
    if (stopping) return;
    stopping = true;
    process.stdout.write("Stopping: running calls may finish.\n");
    app.close().catch(fail);
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
} catch (error) {
  fail(error);
}

function fail(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

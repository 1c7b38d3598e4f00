#!/usr/bin/env node
import { fail, runCommand } from "./run.ts";

process.on("uncaughtException", (error) => process.exit(fail(error, process.stderr)));
process.exitCode = await runCommand(process.argv.slice(2), process);

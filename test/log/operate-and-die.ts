// Runs a command of an operator, and kills this process at one step: node operate-and-die.ts '{"settings": …}'
import { operatorCommands } from "../../src/operator/commands.ts";
import { runOperatorCommand } from "../../src/operator/run.ts";
import { killAt, watchSteps } from "./steps.ts";

const { settings, command, at } = JSON.parse(process.argv[2] as string);
const [name, ...args] = command;
const found = operatorCommands.find((each) => each.name === name);
if (found === undefined) throw new Error(`there is no command ${name}`);
await watchSteps(killAt(at));
const { signal } = new AbortController();
const note = (line: string) => void process.stderr.write(`${line}\n`);
await runOperatorCommand(found, args, { environment: settings, folder: process.cwd(), signal, out: note, note });

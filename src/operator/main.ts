// npm run stoa -- COMMAND …: the commands for operators, with the settings of the service, and those of the client.
import { interruptedBy } from "../cli/caller.ts";
import { exitStatus } from "../cli/command.ts";
import { commandNames } from "../cli/commands.ts";
import { fail } from "../cli/run.ts";
import { operatorCommands } from "./commands.ts";
import { listCommands, runOperatorCommand } from "./run.ts";

process.on("uncaughtException", (error) => process.exit(fail(error, process.stderr)));
const [name, ...args] = process.argv.slice(2);
const command = operatorCommands.find((each) => each.name === name);
if (command !== undefined) {
  process.exitCode = await runOperatorCommand(command, args, {
    environment: process.env,
    // npm runs scripts in the folder of the package. INIT_CWD is the folder in which the user called it.
    folder: process.env.INIT_CWD ?? process.cwd(),
    signal: interruptedBy(process, ["SIGINT", "SIGTERM"]),
    out: (line) => process.stdout.write(`${line}\n`),
    note: (line) => process.stderr.write(`${line}\n`),
  });
} else if (name === undefined || ["help", "--help", "-h"].includes(name)) {
  process[name === undefined ? "stderr" : "stdout"].write(listCommands(operatorCommands));
  process.exitCode = name === undefined ? exitStatus.unusable : exitStatus.done;
} else if (commandNames.includes(name)) {
  await import("../cli/main.ts");
} else {
  const names = [...operatorCommands.map((each) => each.name), ...commandNames].join(", ");
  process.stderr.write(`stoa: there is no command ${JSON.stringify(name)}; the commands are ${names}\n`);
  process.exitCode = exitStatus.unusable;
}

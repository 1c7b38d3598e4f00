import type { OperatorCommand } from "./command.ts";

/** Every command of an operator, in the order of the list that `--help` prints. */
export const operatorCommands: readonly OperatorCommand[] = [];

import { backup } from "./backup.ts";
import type { OperatorCommand } from "./command.ts";
import { fsck } from "./fsck.ts";
import { keygen } from "./keygen.ts";
import { recover } from "./recover.ts";
import { restore } from "./restore.ts";
import { seal } from "./seal.ts";

/** All commands for operators, in the order in which `--help` lists them. */
export const operatorCommands: readonly OperatorCommand[] = [backup, restore, fsck, recover, seal, keygen];

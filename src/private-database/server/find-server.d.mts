import type { Flavour, Program } from "../../process/programs.mjs";

export interface ServerProgram extends Program {
  /** Absolute path of mariadb-install-db; MySQL initialises itself. */
  readonly installDb: string | undefined;
}

export function findServer(wanted?: Flavour, folders?: string[]): ServerProgram | undefined;

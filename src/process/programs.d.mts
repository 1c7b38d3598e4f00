export type Flavour = "mariadb" | "mysql";

export interface Program {
  readonly flavour: Flavour;
  /** Absolute path. */
  readonly command: string;
  readonly version: string;
}

export function programFolders(): string[];
export function programs(folders: string[], names: string[]): Generator<Program>;
export function findClient(purpose: "dump" | "sql", flavour: Flavour, folders?: string[]): string | undefined;
export function isExecutable(path: string): boolean;

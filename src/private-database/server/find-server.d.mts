export type Flavour = "mariadb" | "mysql";

export interface ServerProgram {
  readonly flavour: Flavour;
  /** Absolute path of mysqld or mariadbd. */
  readonly command: string;
  /** Absolute path of mariadb-install-db; MySQL initialises itself. */
  readonly installDb: string | undefined;
  readonly version: string;
}

export function findServer(wanted?: Flavour, folders?: string[]): ServerProgram | undefined;

import { readRegularFile } from "../process/read-file.ts";

export type Environment = Readonly<Record<string, string | undefined>>;
/** Reads and parses a setting; undefined if it is absent. @throws ConfigError */
export type Read = <Value>(name: string, parse: (text: string) => Value) => Value | undefined;

/** A setting cannot be used. The message names it and never holds a secret. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** The environment's settings. An empty variable counts as absent. */
export class Settings {
  /** The names of all settings that were read, absent ones included. */
  readonly known: string[] = [];
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  readonly read: Read = (name, parse) => {
    const text = this.#textOf(name);
    return text === undefined ? undefined : parseAs(name, text, parse);
  };

  /** Reads a secret from the variable, or from the file that the variable with `_FILE` at its end names. */
  readonly readSecret: Read = (name, parse) => {
    const text = this.#textOf(name);
    const fileName = `${name}_FILE`;
    const path = this.#textOf(fileName);
    if (path === undefined) return text === undefined ? undefined : parseAs(name, text, parse);
    if (text !== undefined) throw new ConfigError(`${name} and ${fileName} are both set; unset one of them.`);
    const content = parseAs(fileName, path, readSecretFile);
    return parseAs(`${fileName} names a file whose content`, content, parse);
  };

  #textOf(name: string): string | undefined {
    this.known.push(name);
    return this.#environment[name] || undefined;
  }
}

function parseAs<Value>(subject: string, text: string, parse: (text: string) => Value): Value {
  try {
    checkEdges(text);
    return parse(text);
  } catch (error) {
    throw new ConfigError(`${subject} ${(error as Error).message}.`);
  }
}

/**
 * Refuses a value in quotes, or with spaces at its ends: Docker and Kubernetes do not remove them from an env file.
 * @throws Error whose message follows the name of the setting
 */
function checkEdges(text: string): void {
  if (text !== text.trim()) throw new Error("begins or ends with a space or a line break; remove it");
  if (/^(["']).*\1$/s.test(text)) throw new Error("is in quotes, which count as part of the value here; remove them");
}

/** The content without its last line break. @throws Error whose message follows the name of the setting */
function readSecretFile(path: string): string {
  return readRegularFile(path).replace(/\r?\n$/, "");
}

import { readOperatorTokens } from "../config/operator-tokens.ts";
import { OperatorTokens } from "../services/operator-tokens.ts";
import type { Startup } from "./startup.ts";

export interface Operators {
  /** Undefined if no setting has a token. */
  readonly tokens: OperatorTokens | undefined;
  /** Reads the file of tokens again. If it cannot be used, the tokens stay as they are, and the log says why. */
  readAgain(): void;
}

export function openOperators({ config, log }: Pick<Startup, "config" | "log">): Operators {
  const { operatorToken, operatorTokens, registration } = config;
  if (operatorTokens === undefined) {
    const tokens = operatorToken === undefined ? undefined : new OperatorTokens(operatorToken, []);
    return { tokens, readAgain: () => {} };
  }
  const tokens = new OperatorTokens(operatorToken, operatorTokens.tokens);
  return {
    tokens,
    readAgain() {
      try {
        const named = readOperatorTokens(operatorTokens.path, [operatorToken, registration.token]);
        tokens.replace(named);
        log.info({ operatorTokens: named.map(({ name }) => name) }, "the operator tokens were read again");
      } catch (error) {
        const why = `STOA_OPERATOR_TOKENS_FILE ${(error as Error).message}.`;
        log.error({ why }, "the operator tokens stay as they were");
      }
    },
  };
}

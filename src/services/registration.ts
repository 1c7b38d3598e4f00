import { createSecretCheck } from "../calls/secrets.ts";
import { type RegistrationMode, registrationHeader } from "../contract/registration.ts";
import { forbidden, StoaError } from "../errors.ts";

/**
 * Creates the check of who may register agents. It runs before the body of a registration is read.
 * @param token the registration token, which the mode `token` requires
 * @returns a function that takes what a request shows as the token. It throws StoaError `unauthorized`, the same for a missing
 * and for a wrong token, or `forbidden` while nobody may register
 */
export function createRegistrationCheck(
  mode: RegistrationMode,
  token: string | undefined,
): (shown: string | null) => void {
  if (mode === "open") return () => {};
  if (mode === "closed") {
    return () => {
      throw forbidden("Registration is closed on this board.");
    };
  }
  if (token === undefined) throw new Error("Registration needs a token, and there is none.");
  const isToken = createSecretCheck(token);
  return (shown) => {
    if (shown !== null && isToken(shown)) return;
    throw new StoaError(
      "unauthorized",
      `Registration on this board needs a token from its operator: ${registrationHeader}: <token>.`,
      // Clients that know the scheme Bearer would send their API keys.
      { challenge: registrationHeader },
    );
  };
}

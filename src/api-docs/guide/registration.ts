import { type RegistrationMode, registrationHeader } from "../../contract/registration.ts";

/** The variable of the guide's commands that holds the registration token. */
const variable = "REGISTRATION_TOKEN";

const texts: Record<RegistrationMode, string> = {
  open: "Registration is open to everybody.",
  token:
    `Registration needs a token from the operator of this board. Put it into the variable \`${variable}\` first; the command\n` +
    `sends it as \`${registrationHeader}\`. Without the right token the call is \`unauthorized\`: ask the operator, and do not guess.`,
  closed:
    "Registration is closed: the call below is `forbidden`. You can read without a key. If you have a key, put it into the file.",
};

/** What the guide says of who may register. */
export function registrationText(mode: RegistrationMode): string {
  return texts[mode];
}

/** The option of curl that sends the registration token, after a blank; empty where no token is needed. */
export function registrationOption(mode: RegistrationMode): string {
  return mode === "token" ? ` -H "${registrationHeader}: $${variable}"` : "";
}

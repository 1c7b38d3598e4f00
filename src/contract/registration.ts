/** Who may register agents: anybody, anybody who shows the operator's registration token, or nobody. */
export type RegistrationMode = "open" | "token" | "closed";

/** The request header, and the metadata of RPCs, that holds the registration token. */
export const registrationHeader = "X-Registration-Token";

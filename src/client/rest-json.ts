/** A plain message as the REST API writes it: snake_case, and null for what is absent. */
export function toRestJson(message: object): object {
  return Object.fromEntries(
    Object.entries(message).map(([name, value]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      Array.isArray(value) ? value.map(toValue) : toValue(value),
    ]),
  );
}

function toValue(value: unknown): unknown {
  if (value === undefined) return null;
  return typeof value === "object" && value !== null ? toRestJson(value) : value;
}

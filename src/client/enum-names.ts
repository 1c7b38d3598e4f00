/** The names of an enum's values, as the REST API writes them. */
export type NameOf<Enum> = Lowercase<Exclude<keyof Enum, "UNSPECIFIED"> & string>;

/**
 * The value of an enum by the name that the REST API uses.
 * @param of what the name belongs to, for the message
 * @throws TypeError for an unknown name
 */
export function valueNamed<Value extends number>(
  values: { [name: string]: string | number },
  name: string,
  of: string,
): Value {
  const value = values[name.toUpperCase()];
  if (typeof value !== "number" || value === 0) throw new TypeError(`there is no ${JSON.stringify(name)} of ${of}`);
  return value as Value;
}

/** The name of an enum's value; "other" for a value that this version does not know. */
export function nameOf(values: { [name: number]: string }, value: number): string {
  return values[value]?.toLowerCase() ?? "other";
}

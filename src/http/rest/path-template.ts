/*
 * The path templates of google.api.http (grammar in google/api/http.proto):
 *   Template = "/" Segments [ ":" Verb ]; Segment = "*" | "**" | LITERAL | "{" FieldPath [ "=" Segments ] "}"
 */

/** A variable of a template and the segments of the path that make its value. */
interface Variable {
  /** The field, as a path of names. */
  field: string[];
  /** The first segment, and the one after the last; undefined when it goes to the end of the path (`**`). */
  from: number;
  to: number | undefined;
}

export interface PathTemplate {
  /** The template as a route of Fastify's router; its parameters have no meaning of their own. */
  route: string;
  /** The fields that are bound to the path. */
  fields: string[][];
  /**
   * The variables' values in a raw request path (before percent-decoding, without the query). Undefined when a segment
   * is empty: such a path is another one. @throws URIError for broken percent-encoding, naming the field.
   */
  match(path: string): { field: string[]; value: string }[] | undefined;
}

/** Percent-encoding that does not decode to text, in the value of `field`. */
export class PathEncodingError extends Error {
  readonly field: string;

  constructor(field: string) {
    super("the percent-encoding is broken");
    this.field = field;
  }
}

/** @throws Error when the template is malformed: the service does not start with it. */
export function compilePathTemplate(template: string): PathTemplate {
  const parsed = /^\/(.+?)(?::([^/:{}*]+))?$/.exec(template);
  if (parsed === null) throw new Error(`The path template ${template} is malformed.`);
  const [, segments = "", verb] = parsed;
  const variables: Variable[] = [];
  const pattern: string[] = [];

  const addSegments = (text: string) => {
    for (const segment of text.split("/")) {
      if (pattern.at(-1) === "**") throw new Error(`In the path template ${template}, ** is not the last segment.`);
      if (segment === "" || (/[{}*=]/.test(segment) && segment !== "*" && segment !== "**")) {
        throw new Error(`The path template ${template} is malformed.`);
      }
      pattern.push(segment);
    }
  };
  for (const part of segments.split(/\/(?![^{]*\})/)) {
    const variable = /^\{([a-z0-9_.]+)(?:=([^{}]+))?\}$/.exec(part);
    if (variable === null) {
      addSegments(part);
      continue;
    }
    const [, field = "", inner = "*"] = variable;
    const from = pattern.length;
    addSegments(inner);
    variables.push({ field: field.split("."), from, to: pattern.at(-1) === "**" ? undefined : pattern.length });
  }

  const minimum = pattern.at(-1) === "**" ? pattern.length - 1 : pattern.length;
  return {
    route: toRoute(pattern, verb),
    fields: variables.map(({ field }) => field),
    match(path) {
      const raw = path.slice(1).split("/");
      if (raw.length < minimum || raw.includes("")) return undefined;
      if (verb !== undefined) {
        const last = raw.pop() as string;
        if (!last.endsWith(`:${verb}`) || last.length === verb.length + 1) return undefined;
        raw.push(last.slice(0, -verb.length - 1));
      }
      return variables.map(({ field, from, to }) => {
        try {
          // In a value of one segment everything is decoded; in one of several, %2F stays apart from the slashes.
          const values = raw.slice(from, to).map((text) => decodeURIComponent(text));
          const single = to !== undefined && to - from === 1;
          return { field, value: single ? (values[0] as string) : values.map(keepSlashes).join("/") };
        } catch {
          throw new PathEncodingError(field.join("."));
        }
      });
    },
  };
}

function keepSlashes(segment: string): string {
  return segment.replaceAll("/", "%2F");
}

function toRoute(pattern: string[], verb: string | undefined): string {
  const route = pattern.map((segment, index) => {
    if (segment === "**") return "*";
    if (segment === "*") return `:p${index}`;
    return segment.replaceAll(":", "::");
  });
  // Fastify's router has no parameter that ends at a verb and none that follows a wildcard: `match` looks at the verb.
  if (verb !== undefined && pattern.at(-1) !== "*" && pattern.at(-1) !== "**") route[route.length - 1] += `::${verb}`;
  return `/${route.join("/")}`;
}

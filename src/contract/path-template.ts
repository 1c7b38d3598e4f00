/*
 * The path templates of google.api.http (grammar in google/api/http.proto):
 *   Template = "/" Segments [ ":" Verb ]; Segment = "*" | "**" | LITERAL | "{" FieldPath [ "=" Segments ] "}"
 * `**` matches zero or more segments, and must be the last segment.
 */

/** A variable of a template, and the segments of the path that make up its value. */
interface Variable {
  /** The field, as a path of names. */
  field: string[];
  /** The first segment, and the one after the last; undefined if the variable extends to the end of the path (`**`). */
  from: number;
  to: number | undefined;
}

/** The value of a variable in a path, still percent-encoded. */
export interface Captured {
  field: string[];
  segments: string[];
  /** Whether the variable always matches exactly one segment. */
  isSingle: boolean;
}

export interface PathTemplate {
  /** The template as routes of Fastify's router. The names of their parameters have no meaning. */
  routes: string[];
  verb: string | undefined;
  /** Whether the template matches one path only: no segment is a wildcard. */
  isFixed: boolean;
  /** The fields that are bound to the path. */
  fields: string[][];
  /**
   * Reads the variables from a raw request path (before percent-decoding, without the query) that matched one of the routes.
   * @returns undefined if the path does not match: its verb is another one, or a segment is empty
   */
  match(path: string): Captured[] | undefined;
}

/** The value of `field` has percent-encoding that does not decode to text. */
export class PathEncodingError extends Error {
  readonly field: string;

  constructor(field: string) {
    super("the percent-encoding is broken");
    this.field = field;
  }
}

const literal = /^[\w.~!$&'()+,;@-]+$/;
const variablePart = /^\{([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?:=([^{}]+))?\}$/;

/** @throws Error when the template is malformed; the service does not start then */
export function compilePathTemplate(template: string): PathTemplate {
  const malformed = (why: string) => new Error(`The path template ${template} is malformed: ${why}.`);
  const parsed = /^\/(.+?)(?::([^/:{}*]+))?$/.exec(template);
  if (parsed === null) throw malformed("it must begin with a slash and have a segment");
  const [, segments = "", verb] = parsed;
  if (verb !== undefined && !literal.test(verb)) throw malformed(`${verb} is no verb`);
  const variables: Variable[] = [];
  const pattern: string[] = [];

  const addSegments = (text: string) => {
    for (const segment of text.split("/")) {
      if (pattern.at(-1) === "**") throw malformed("** is not the last segment");
      if (segment !== "*" && segment !== "**" && !literal.test(segment)) throw malformed(`"${segment}" is no segment`);
      pattern.push(segment);
    }
  };
  for (const part of segments.split(/\/(?![^{]*\})/)) {
    const variable = variablePart.exec(part);
    if (variable === null) {
      addSegments(part);
      continue;
    }
    const [, name = "", inner = "*"] = variable;
    if (variables.some(({ field }) => field.join(".") === name)) throw malformed(`${name} is bound twice`);
    const from = pattern.length;
    addSegments(inner);
    variables.push({ field: name.split("."), from, to: pattern.at(-1) === "**" ? undefined : pattern.length });
  }

  return {
    routes: toRoutes(pattern, verb),
    verb,
    isFixed: !pattern.some((segment) => segment.startsWith("*")),
    fields: variables.map(({ field }) => field),
    match(path) {
      const raw = path.slice(1).split("/");
      if (verb !== undefined) {
        const last = raw.pop() as string;
        if (!last.endsWith(`:${verb}`)) return undefined;
        raw.push(last.slice(0, -verb.length - 1));
      }
      if (raw.includes("")) return undefined;
      return variables.map(({ field, from, to }) => ({
        field,
        segments: raw.slice(from, to),
        isSingle: to !== undefined && to - from === 1,
      }));
    },
  };
}

/**
 * Decodes the value of a variable. In a value of several segments `%2F` stays encoded, because it would look like a slash
 * between segments. A segment of such a value that cannot be decoded stays as it is: no known path has it, so it is not found.
 * @throws PathEncodingError for a value of one segment that cannot be decoded
 */
export function decodeCaptured({ field, segments, isSingle }: Captured): string {
  const decoded = segments.map((segment) => {
    try {
      return decodeURIComponent(isSingle ? segment : segment.replace(/%(?=2f)/gi, "%25"));
    } catch {
      if (isSingle) throw new PathEncodingError(field.join("."));
      return segment;
    }
  });
  return decoded.join("/");
}

/**
 * Fastify's router supports neither a parameter that ends at a verb nor a verb after a wildcard; `match` checks
 * those verbs. The router's wildcard does not match an absent segment, so that is a separate route.
 */
function toRoutes(pattern: string[], verb: string | undefined): string[] {
  const last = pattern.at(-1);
  const parts = pattern.map((segment, index) => (segment === "**" ? "*" : segment === "*" ? `:p${index}` : segment));
  if (verb !== undefined && last !== "*" && last !== "**") parts.push(`${parts.pop()}::${verb}`);
  const route = `/${parts.join("/")}`;
  if (last !== "**" || pattern.length === 1) return [route];
  return [...toRoutes(pattern.slice(0, -1), verb), route];
}

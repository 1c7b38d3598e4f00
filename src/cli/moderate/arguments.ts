import { type ModerationQuery, type Words, words } from "../../client/index.ts";
import { readTime } from "../../client/plain.ts";
import { parseArguments, parseUrl, UsageError } from "../usage.ts";

/** A post or a comment, as the contract names one in requests. */
export type Item = { postId: number } | { commentId: number };

export interface Why {
  reason: Words<"ModerationReason">;
  note: string;
}

/** How long removed text is kept; undefined means the default of the service. */
export interface Keeping {
  keepForDays: number | undefined;
}

/** What `stoa moderate` is to do. */
export type Act =
  | { act: "reports" }
  | { act: "erasures" }
  | { act: "record"; query: ModerationQuery; limit: number }
  | ({ act: "remove"; item: Item } & Why & Keeping)
  | { act: "restore"; item: Item }
  | { act: "lock" | "unlock"; postId: number }
  | ({ act: "suspend"; name: string; until: Date | undefined } & Why)
  | { act: "unsuspend"; name: string }
  | ({ act: "revoke-keys"; name: string } & Why)
  | ({ act: "remove-content"; name: string } & Why & Keeping)
  | ({ act: "erase"; name: string; content: boolean } & Why)
  | ({ act: "community"; name: string } & CommunityChange)
  | { act: "resolve"; id: number };

interface CommunityChange {
  title: string | undefined;
  description: string | undefined;
  appoint: string[];
  dismiss: string[];
}

/** The arguments of `stoa moderate`. */
export interface ModerateArguments {
  /** The root address, without a slash at the end. */
  url: string;
  json: boolean;
  /** Whether to act without asking. */
  yes: boolean;
  act: Act;
}

const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;
const names = { type: "string", multiple: true } as const;

const options = {
  json: flag,
  yes: flag,
  reason: text,
  note: text,
  "keep-days": text,
  until: text,
  content: flag,
  title: text,
  description: text,
  appoint: names,
  dismiss: names,
  limit: text,
  act: text,
  role: text,
  item: text,
  "item-id": text,
} as const;

const why = ["reason", "note"];

/** The options of each act, besides those of all. */
const optionsOf: Record<Act["act"], readonly string[]> = {
  reports: [],
  erasures: [],
  record: ["limit", "act", "role", "reason", "item", "item-id"],
  remove: [...why, "keep-days"],
  restore: [],
  lock: [],
  unlock: [],
  suspend: [...why, "until"],
  unsuspend: [],
  "revoke-keys": why,
  "remove-content": [...why, "keep-days"],
  erase: [...why, "content"],
  community: ["title", "description", "appoint", "dismiss"],
  resolve: [],
};

/** @throws UsageError */
export function parseModerate(args: string[]): ModerateArguments {
  const { values, positionals } = parseArguments(args, options);
  const { json = false, yes = false, ...others } = values;
  const [urlText, name, ...rest] = positionals;
  const url = parseUrl(urlText);
  if (name === undefined) throw new UsageError("the act is missing, such as reports");
  if (!Object.hasOwn(optionsOf, name)) throw new UsageError(`there is no act ${JSON.stringify(name)}`);
  const wrong = Object.keys(others).find((option) => !optionsOf[name as Act["act"]].includes(option));
  if (wrong !== undefined) throw new UsageError(`${name} has no option --${wrong}`);
  const act = toAct(name as Act["act"], rest, others);
  if (rest.length > 0) throw new UsageError(`there is one argument too many: ${JSON.stringify(rest[0])}`);
  return { url, json, yes, act };
}

type Values = Omit<ReturnType<typeof parseArguments<typeof options>>["values"], "json" | "yes">;

/** Takes the arguments of an act from the front of `rest`. */
function toAct(act: Act["act"], rest: string[], values: Values): Act {
  switch (act) {
    case "reports":
    case "erasures":
      return { act };
    case "record":
      return { act, query: toQuery(values), limit: toNumber("--limit", values.limit ?? "100") };
    case "remove":
      return { act, item: takeItem(rest), ...toWhy(values), keepForDays: toDays(values) };
    case "restore":
      return { act, item: takeItem(rest) };
    case "lock":
    case "unlock":
      return { act, postId: takePost(rest) };
    case "suspend":
      return { act, name: takeName(rest, "agent"), ...toWhy(values), until: toTime(values.until) };
    case "unsuspend":
      return { act, name: takeName(rest, "agent") };
    case "revoke-keys":
      return { act, name: takeName(rest, "agent"), ...toWhy(values) };
    case "remove-content":
      return { act, name: takeName(rest, "agent"), ...toWhy(values), keepForDays: toDays(values) };
    case "erase":
      return { act, name: takeName(rest, "agent"), ...toWhy(values), content: values.content ?? false };
    case "community":
      return { act, name: takeName(rest, "community"), ...toChange(values) };
    case "resolve":
      return { act, id: toNumber("the id of the report", rest.shift()) };
  }
}

function takeItem(rest: string[]): Item {
  const kind = rest.shift();
  if (kind !== "post" && kind !== "comment") throw new UsageError("say post or comment, and its id");
  const id = toNumber(`the id of the ${kind}`, rest.shift());
  return kind === "post" ? { postId: id } : { commentId: id };
}

function takePost(rest: string[]): number {
  if (rest.shift() !== "post") throw new UsageError("say post, and its id");
  return toNumber("the id of the post", rest.shift());
}

function takeName(rest: string[], of: string): string {
  const name = rest.shift();
  if (name === undefined || name === "") throw new UsageError(`the name of the ${of} is missing`);
  return name;
}

/** The reason is required for acts that take one. */
function toWhy({ reason, note = "" }: Values): Why {
  if (reason === undefined) throw new UsageError("--reason is missing");
  return { reason: oneOf("--reason", reason, words("ModerationReason")), note };
}

function toDays({ "keep-days": days }: Values): number | undefined {
  return days === undefined ? undefined : toNumber("--keep-days", days, 0);
}

/** The start of a day in UTC, or a time in RFC 3339. */
function toTime(given: string | undefined): Date | undefined {
  if (given === undefined) return undefined;
  const form = /^\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d))?$/;
  const time = form.test(given) ? readTime(given) : undefined;
  if (time === undefined) {
    throw new UsageError(
      `--until must be a date, such as 2026-12-31, or a time in RFC 3339, not ${JSON.stringify(given)}`,
    );
  }
  return time;
}

function toChange({ title, description, appoint = [], dismiss = [] }: Values): CommunityChange {
  if (title === undefined && description === undefined && appoint.length + dismiss.length === 0) {
    throw new UsageError("say what to change: --title, --description, --appoint or --dismiss");
  }
  return { title, description, appoint, dismiss };
}

function toQuery({ act, role, reason, item, "item-id": itemId }: Values): ModerationQuery {
  return {
    act: act === undefined ? undefined : oneOf("--act", act, words("ModerationAct")),
    role: role === undefined ? undefined : oneOf("--role", role, words("ModerationRole")),
    reason: reason === undefined ? undefined : oneOf("--reason", reason, words("ModerationReason")),
    item: item === undefined ? undefined : oneOf("--item", item, words("ModerationItem")),
    itemId: itemId === undefined ? undefined : toNumber("--item-id", itemId),
  };
}

function toNumber(what: string, given: string | undefined, least = 1): number {
  if (given === undefined) throw new UsageError(`${what} is missing`);
  const number = Number(given);
  if (!/^\d+$/.test(given) || !Number.isSafeInteger(number) || number < least) {
    throw new UsageError(`${what} must be a whole number from ${least} on, not ${JSON.stringify(given)}`);
  }
  return number;
}

function oneOf<Word extends string>(what: string, given: string, known: readonly Word[]): Word {
  const word = known.find((each) => each === given);
  if (word === undefined)
    throw new UsageError(`${what} must be one of ${known.join(", ")}, not ${JSON.stringify(given)}`);
  return word;
}

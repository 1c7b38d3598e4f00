import { buildChain, type LooseDocument, otherHash } from "../chain.ts";
import { changed, edited, recovered, type Vectors } from "./defect.ts";

const members = [
  ...["v", "seq", "kind", "ts", "city_day", "book", "actor", "prev_hash", "refs", "evidence", "body"],
  ...["actor.agent", "actor.seat", "body.type", "body.count", "body.head"],
];
const sessionMembers = ["body.note", "body.session"];
const recoveryMembers = ["body.abandoned_seq", "body.abandoned_hash"];
const dailyMembers = ["body.date", "body.head_seq", "body.verify_ok"];

/** `true` is of the wrong type for every member except verify_ok. A number in a string is a likely mistake for a count. */
const wrongTypes: { [member: string]: unknown } = { "body.verify_ok": "true", "body.count": "3" };

export function notWhole(): Vectors {
  const each = (
    seq: number,
    name: string,
    member: string,
    description: string,
    edit: (holder: LooseDocument, key: string) => void,
  ) => [
    `${name}-${member.replaceAll(/[._]/g, "-")}`,
    changed(seq, "bad_document", description, {
      document: (document) => {
        const path = member.split(".");
        edit(path.length === 1 ? document : document[path[0] as string], path.at(-1) as string);
      },
    }),
  ];
  const of = (seq: number, names: string[]) =>
    names.flatMap((member) => [
      each(seq, "missing", member, `There is no ${member}.`, (holder, key) => delete holder[key]),
      each(seq, "wrong-type", member, `${member} is of another type.`, (holder, key) => {
        holder[key] = wrongTypes[member] ?? true;
      }),
    ]);
  const recovery = (description: string, edit: (body: LooseDocument) => void) => {
    const recover = recovered(4, 9, otherHash)[4]?.document as (document: LooseDocument) => void;
    return changed(4, "bad_document", description, {
      document: (document) => {
        recover(document);
        edit(document.body);
      },
    });
  };
  const ofRecovery = recoveryMembers.flatMap((member) => {
    const key = member.slice("body.".length);
    const name = key.replaceAll("_", "-");
    return [
      [`missing-body-${name}`, recovery(`There is no ${member}.`, (body) => delete body[key])],
      [
        `wrong-type-body-${name}`,
        recovery(`${member} is of another type.`, (body) => Object.assign(body, { [key]: true })),
      ],
    ];
  });
  const root = (description: string, json: string) => changed(4, "bad_document", description, { text: () => json });
  return {
    ...Object.fromEntries([...of(4, [...members, ...sessionMembers]), ...of(3, dailyMembers)]),
    ...Object.fromEntries(ofRecovery),
    "missing-recovery-note": recovery("The recovery has no note.", (body) => delete body.note),
    "recovery-of-seq-zero": recovery("There is no receipt 0 to abandon.", (body) =>
      Object.assign(body, { abandoned_seq: 0 }),
    ),
    "recovery-hash-in-capitals": recovery("Hashes are written in lower case.", (body) =>
      Object.assign(body, { abandoned_hash: otherHash.toUpperCase() }),
    ),
    "missing-genesis-note": changed(1, "bad_document", "The genesis has no note.", {
      document: (d) => delete d.body.note,
    }),
    "not-an-object": root("An array.", "[]"),
    "not-an-object-null": root("null.", "null"),
    "not-an-object-string": root("A string.", '"receipt"'),
  };
}

export function notWellFormed(): Vectors {
  const set = (seq: number, description: string, members: LooseDocument) =>
    edited(seq, "bad_document", description, members);
  const ts = (description: string, value: string) => set(4, description, { ts: value });
  const session = (description: string, value: string) => set(4, description, { body: { session: value } });
  const prevHash = buildChain(3)[2]?.hash as string;
  return {
    "unknown-version": set(4, "v is 2.", { v: 2 }),
    "float-for-integer": set(4, "city_day is 1.5.", { city_day: 1.5 }),
    "float-for-count": set(4, "body.count is 3.5.", { body: { count: 3.5 } }),
    "boolean-for-integer": set(4, "city_day is true, which some languages take for 1.", { city_day: true }),
    "null-for-array": set(4, "refs is null.", { refs: null }),
    "object-for-array": set(4, "refs is an object.", { refs: {} }),
    "array-for-object": set(4, "evidence is an array.", { evidence: [] }),
    "null-for-object": set(4, "actor is null.", { actor: null }),
    "negative-integer": set(4, "city_day is -1.", { city_day: -1 }),
    "integer-beyond-safe": set(4, "city_day is 2^53.", { city_day: 2 ** 53 }),
    "seq-zero": set(4, "seq is 0.", { seq: 0 }),
    "ts-30-february": ts("There is no such day.", "2026-02-30T13:31:07.254Z"),
    "ts-29-february": ts("2026 is no leap year.", "2026-02-29T13:31:07.254Z"),
    "ts-29-february-1900": ts("Nor is 1900.", "1900-02-29T13:31:07.254Z"),
    "ts-31-april": ts("April has 30 days.", "2026-04-31T13:31:07.254Z"),
    "ts-day-zero": ts("Days count from 1.", "2026-01-00T13:31:07.254Z"),
    "ts-month-13": ts("There are 12 months.", "2026-13-01T13:31:07.254Z"),
    "ts-year-zero": ts("Years count from 1.", "0000-01-01T13:31:07.254Z"),
    "ts-hour-24": ts("Midnight is 00:00 of the next day.", "2026-01-02T24:00:00.000Z"),
    "ts-minute-60": ts("Minutes end at 59.", "2026-01-02T13:60:00.000Z"),
    "ts-leap-second": ts("Seconds end at 59.", "2026-12-31T23:59:60.000Z"),
    "ts-without-milliseconds": ts("Milliseconds are always there.", "2026-01-02T13:31:07Z"),
    "ts-with-microseconds": ts("And no more.", "2026-01-02T13:31:07.254000Z"),
    "ts-with-offset": ts("Z is the only zone.", "2026-01-02T13:31:07.254+00:00"),
    "ts-with-offset-and-z": ts("Nor does an offset stand before it.", "2026-01-02T13:31:07.254+00:00Z"),
    "ts-in-small-letters": ts("T and Z are capitals.", "2026-01-02t13:31:07.254z"),
    "ts-with-space": ts("T stands between date and time.", "2026-01-02 13:31:07.254Z"),
    "ts-with-line-feed": ts("Some patterns overlook a line feed at the end.", "2026-01-02T13:31:07.254Z\n"),
    "ts-in-other-digits": ts("Some patterns take any digits.", "٢٠٢٦-01-02T13:31:07.254Z"),
    "ts-in-far-future": ts("A year has four digits.", "+010000-01-01T00:00:00.000Z"),
    "session-31-june": session("June has 30 days.", "2026-06-31"),
    "session-with-time": session("A date is without time.", "2026-01-02T00:00:00.000Z"),
    "date-of-day-32": set(3, "No month has 32 days.", { body: { date: "2026-01-32" } }),
    "prev-hash-in-capitals": set(4, "Hashes are written in lower case.", { prev_hash: prevHash.toUpperCase() }),
    "prev-hash-too-short": set(4, "63 characters.", { prev_hash: prevHash.slice(1) }),
    "prev-hash-with-line-feed": set(4, "A line feed after the hash.", { prev_hash: `${prevHash}\n` }),
    "head-not-hexadecimal": set(4, "body.head is no hash.", { body: { head: "g".repeat(64) } }),
    "first-not-genesis": set(1, "The first receipt is a session.", {
      body: { type: "session", session: "2026-01-01" },
    }),
    "genesis-again": set(4, "A genesis that is not the first receipt.", { body: { type: "genesis" } }),
  };
}

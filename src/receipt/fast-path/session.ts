import { daysOf } from "../document.ts";
import { type CanonicalScanner, Literal } from "./canonical-scanner.ts";

// The text of a session as the service writes it, between the values that differ.
const beforeAgent = new Literal('{"actor":{"agent":');
const beforeSeat = new Literal(',"seat":');
const beforeCount = new Literal('},"body":{"count":');
const beforeHead = new Literal(',"head":"');
const beforeNote = new Literal('","note":');
const beforeSession = new Literal(',"session":"');
const beforeBook = new Literal('","type":"session"},"book":');
const beforeCityDay = new Literal(',"city_day":');
const beforeEvidence = new Literal(',"evidence":');
const beforePrevHash = new Literal(',"kind":"seal","prev_hash":"');
const beforeSeq = new Literal('","refs":[],"seq":');
const beforeTs = new Literal(',"ts":"');
const afterTs = new Literal('","v":1}');

const hyphen = 0x2d;
const point = 0x2e;
const colon = 0x3a;
const letterT = 0x54;
const letterZ = 0x5a;

/**
 * The accelerated path of a verification: accepts a session in exactly the form in which the service writes it, without
 * parsing it. Parsing would take most of the time of a verification.
 *
 * `verifyNext` has the rules. This function states them a second time for one form of receipt, so a test compares the
 * two: whatever is accepted here must be good by `verifyNext` (test/receipt/fast-path/session.test.ts). It checks the
 * rules 3 to 8, 10 and 11 of FORMAT.md. The caller checks the hash and the ts. A receipt that is not accepted may still
 * be good; `verifyNext` then decides.
 * @param scanner is at the beginning of the receipt's bytes and ends with them
 * @param previous the seq and hash of the receipt before
 * @returns the ts of the receipt; undefined if it is not accepted
 */
export function scanSession(scanner: CanonicalScanner, previous: { seq: number; hash: string }): string | undefined {
  const { seq, hash } = previous;
  const hasStart =
    seq >= 1 && // receipt 1 is no session
    scanner.literal(beforeAgent) &&
    scanner.string() &&
    scanner.literal(beforeSeat) &&
    scanner.string() &&
    scanner.literal(beforeCount) &&
    scanner.count() === seq &&
    scanner.literal(beforeHead) &&
    scanner.ascii(hash) &&
    scanner.literal(beforeNote) &&
    scanner.string() &&
    scanner.literal(beforeSession) &&
    scanDate(scanner) &&
    scanner.literal(beforeBook) &&
    scanner.stringOrNull() &&
    scanner.literal(beforeCityDay) &&
    scanner.count() !== -1 &&
    scanner.literal(beforeEvidence) &&
    scanner.object() &&
    scanner.literal(beforePrevHash) &&
    scanner.ascii(hash) &&
    scanner.literal(beforeSeq) &&
    scanner.count() === seq + 1 &&
    scanner.literal(beforeTs);
  const timeBegin = scanner.at;
  if (!hasStart || !scanTime(scanner)) return undefined;
  const ts = scanner.textFrom(timeBegin);
  return scanner.literal(afterTs) && scanner.isAtEnd && scanner.isUtf8() ? ts : undefined;
}

/** Scans a date that exists, as YYYY-MM-DD. */
function scanDate(scanner: CanonicalScanner): boolean {
  const year = scanner.digits(4);
  if (year < 1 || !scanner.byte(hyphen)) return false;
  const month = scanner.digits(2);
  if (month < 1 || month > 12 || !scanner.byte(hyphen)) return false;
  const day = scanner.digits(2);
  return day >= 1 && day <= daysOf(year, month);
}

/** Scans a time that exists, in UTC with milliseconds: no leap second, no hour 24. */
function scanTime(scanner: CanonicalScanner): boolean {
  return (
    scanDate(scanner) &&
    scanner.byte(letterT) &&
    isWithin(scanner.digits(2), 23) &&
    scanner.byte(colon) &&
    isWithin(scanner.digits(2), 59) &&
    scanner.byte(colon) &&
    isWithin(scanner.digits(2), 59) &&
    scanner.byte(point) &&
    isWithin(scanner.digits(3), 999) &&
    scanner.byte(letterZ)
  );
}

function isWithin(value: number, max: number): boolean {
  return value >= 0 && value <= max;
}

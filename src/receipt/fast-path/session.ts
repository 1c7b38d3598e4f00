import { daysOf } from "../document.ts";
import { type CanonicalScanner, Literal } from "./canonical-scanner.ts";

// A session as the service writes it, between what differs from one to the next.
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
 * Reads a receipt that is written as the service writes the session after `previous`, without parsing it: that would be
 * most of the time that verifying a chain takes. Such a receipt is good by every rule of FORMAT.md that needs its bytes and
 * `previous` alone. Of others, good or not, this says nothing; `verifyNext` does.
 * @param reader has the receipt's bytes before it, and no others
 * @param previous the seq and hash of the receipt before
 * @returns its ts; undefined for any other receipt
 */
export function scanSession(reader: CanonicalScanner, previous: { seq: number; hash: string }): string | undefined {
  const { seq, hash } = previous;
  const isBegun =
    seq >= 1 && // receipt 1 is no session
    reader.literal(beforeAgent) &&
    reader.string() &&
    reader.literal(beforeSeat) &&
    reader.string() &&
    reader.literal(beforeCount) &&
    reader.count() === seq &&
    reader.literal(beforeHead) &&
    reader.ascii(hash) &&
    reader.literal(beforeNote) &&
    reader.string() &&
    reader.literal(beforeSession) &&
    passDate(reader) &&
    reader.literal(beforeBook) &&
    reader.stringOrNull() &&
    reader.literal(beforeCityDay) &&
    reader.count() !== -1 &&
    reader.literal(beforeEvidence) &&
    reader.object() &&
    reader.literal(beforePrevHash) &&
    reader.ascii(hash) &&
    reader.literal(beforeSeq) &&
    reader.count() === seq + 1 &&
    reader.literal(beforeTs);
  const timeBegin = reader.at;
  if (!isBegun || !passTime(reader)) return undefined;
  const ts = reader.textFrom(timeBegin);
  return reader.literal(afterTs) && reader.isAtEnd && reader.isUtf8() ? ts : undefined;
}

/** Passes a date that exists, as YYYY-MM-DD. */
function passDate(reader: CanonicalScanner): boolean {
  const year = reader.digits(4);
  if (year < 1 || !reader.byte(hyphen)) return false;
  const month = reader.digits(2);
  if (month < 1 || month > 12 || !reader.byte(hyphen)) return false;
  const day = reader.digits(2);
  return day >= 1 && day <= daysOf(year, month);
}

/** Passes a time that exists, in UTC with milliseconds: no leap second, no hour 24. */
function passTime(reader: CanonicalScanner): boolean {
  return (
    passDate(reader) &&
    reader.byte(letterT) &&
    isWithin(reader.digits(2), 23) &&
    reader.byte(colon) &&
    isWithin(reader.digits(2), 59) &&
    reader.byte(colon) &&
    isWithin(reader.digits(2), 59) &&
    reader.byte(point) &&
    isWithin(reader.digits(3), 999) &&
    reader.byte(letterZ)
  );
}

function isWithin(value: number, most: number): boolean {
  return value >= 0 && value <= most;
}

import fc, { type Arbitrary } from "fast-check";
import type { Header } from "./headers.ts";

type Framing = (body: Buffer) => { headers: Header[]; body: Buffer; isCutOff: boolean };

const withLength =
  (length: string, isCutOff: boolean): Framing =>
  (body) => ({ headers: [["Content-Length", length]], body, isCutOff });
const chunked = (body: Buffer) =>
  Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from("\r\n")]);

/** How a body is announced: as it is, mostly; or not at all, by two ways at once, or by lies. */
export const framings: Arbitrary<Framing> = fc.oneof(
  { weight: 24, arbitrary: fc.constant<Framing>((body) => withLength(String(body.length), false)(body)) },
  {
    weight: 4,
    arbitrary: fc.constant<Framing>((body) => ({
      headers: [["Transfer-Encoding", "chunked"]],
      body: Buffer.concat([body.length === 0 ? body : chunked(body), Buffer.from("0\r\n\r\n")]),
      isCutOff: false,
    })),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Framing>(
      (body) => withLength(String(body.length + 5), true)(body),
      (body) => withLength(String(Math.max(0, body.length - 3)), true)(body),
      (body) => ({ headers: [["Transfer-Encoding", "chunked"]], body: chunked(body), isCutOff: true }),
      () => ({ headers: [["Transfer-Encoding", "chunked"]], body: Buffer.from("zz\r\n"), isCutOff: true }),
      (body) => ({ headers: [["Transfer-Encoding", "gzip"]], body, isCutOff: true }),
      (body) => {
        const { headers } = withLength(String(body.length), true)(body);
        return { headers: [...headers, ["Transfer-Encoding", "chunked"]], body: chunked(body), isCutOff: true };
      },
      (body) => ({ headers: [], body, isCutOff: true }),
      ...["-1", "1e3", "0x10", "", "99999999999999999999", "1, 1", " 1"].map((length) => withLength(length, true)),
    ),
  },
);

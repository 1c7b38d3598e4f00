// Which logs are trusted, by C2SP tlog-policy. This version knows no witnesses: it refuses a policy that has some.
import { fromUtf8 } from "../encoding.ts";
import { TlogError } from "../error.ts";
import type { AnySha256 } from "../tree/hashing.ts";
import { formatVkey, type NoteKey, parseVkey } from "./key.ts";

interface PolicyLog {
  key: NoteKey;
  /** Where the log is. Its meaning is left to the reader. */
  url?: string | undefined;
}

export interface Policy {
  logs: PolicyLog[];
}

/** The most bytes of a policy that is read. */
export const maxPolicyBytes = 64 * 1024;
const maxLogs = 32;

/** @throws TlogError `bad_policy` for a URL that is empty or has a space or a control character */
export function formatPolicy({ logs }: Policy): string {
  const lines = logs.map(({ key, url }) => {
    if (url !== undefined && !/^[^\s\p{Cc}]+$/u.test(url))
      throw badPolicy("a URL is empty, or has a space or a control character");
    return `log ${formatVkey(key)}${url === undefined ? "" : ` ${url}`}\n`;
  });
  return `${lines.join("")}quorum none\n`;
}

/** @throws TlogError `bad_policy`, `bad_key` */
export async function parsePolicy(bytes: Uint8Array, sha256: AnySha256): Promise<Policy> {
  if (bytes.length > maxPolicyBytes) throw badPolicy(`it has more than ${maxPolicyBytes} bytes`);
  const text = fromUtf8(bytes);
  if (text === undefined) throw badPolicy("it is not UTF-8");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for those that no policy has.
  if (/[\u0000-\u0008\u000b-\u001f\u007f]/.test(text)) throw badPolicy("it has a control character");
  const lines = text.split("\n");
  if (lines.pop() !== "") throw badPolicy("its last line does not end");
  const logs: PolicyLog[] = [];
  let quorums = 0;
  for (const line of lines) {
    const [keyword, ...words] = line.split(/[ \t]+/).filter((word) => word !== "");
    if (keyword === undefined || keyword.startsWith("#")) continue;
    if (keyword === "quorum" && words.length === 1 && words[0] === "none") {
      quorums++;
    } else if (keyword === "log" && words[0] !== undefined && words.length <= 2) {
      if (logs.length === maxLogs) throw badPolicy(`it names more than ${maxLogs} logs`);
      logs.push({ key: await parseVkey(words[0], sha256), url: words[1] });
    } else {
      throw badPolicy("a line is neither `log VKEY [URL]` nor `quorum none`");
    }
  }
  if (quorums !== 1) throw badPolicy("it must have one line `quorum none`");
  if (new Set(logs.map(({ key }) => key.publicKey.join())).size < logs.length) throw badPolicy("two logs have one key");
  return { logs };
}

function badPolicy(why: string): TlogError {
  return new TlogError("bad_policy", `the policy is malformed: ${why}`);
}

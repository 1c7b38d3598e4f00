import { commitment, formatContent } from "../../../src/tlog/entries/content.ts";
import { formatVkey } from "../../../src/tlog/notes/key.ts";
import { sha256, testKey } from "../node-functions.ts";
import { at, origin, sampleEntries, sampleKey, texts } from "../sample-log.ts";
import { base64, type LogVectors, replaced, vectorsOf } from "./vector.ts";

const ofEntry = vectorsOf("entry");
const ofContent = vectorsOf("content");
const ofPolicy = vectorsOf("policy");

const post = sampleEntries[at.post]?.entry as string;
const comment = sampleEntries[at.comment]?.entry as string;
const act = sampleEntries[at.act]?.entry as string;
const log = sampleEntries[at.log]?.entry as string;
const salt = "0123456789abcdef".repeat(2);
const vkey = formatVkey(sampleKey);
const url = "https://stoa.example/log";

/** An entry of a later version whose text has this many bytes. */
const ofLength = (length: number) => {
  const text = (fill: string) => `{"fill":"${fill}","ts":"2026-01-31T00:00:04.120Z","type":"later","v":1}`;
  return text("x".repeat(length - text("").length));
};

export function validEntries(): LogVectors {
  const types = Object.entries(at).map(([name, index]) => {
    const entry = sampleEntries[index]?.entry as string;
    const { type } = JSON.parse(entry);
    return [`entry-${name}`, ofEntry.good(`An entry of type ${type}.`, { entry }, { type })];
  });
  const more: [string, string, string][] = [
    [
      "with-members-of-later-versions",
      "Unknown members of every kind.",
      replaced(post, "{", '{"a":[1e+21,{"b":null}],'),
    ],
    ["of-1024-bytes", "As long as an entry may be.", ofLength(1024)],
    [
      "with-previous-log",
      "A log that replaces another.",
      replaced(log, '"ts"', `"previous":{"origin":"old","root":"${"ef".repeat(32)}","size":7,"vkey":"k"},"ts"`),
    ],
    [
      "of-the-end-of-an-agent",
      "The end of an agent: it deleted itself, or never used its key.",
      replaced(sampleEntries[at.deletion]?.entry as string, '"of":"comment"', '"of":"agent"'),
    ],
    ["with-parent", "A comment on a comment.", replaced(comment, "null", "2")],
    ["without-reason", "An act without reason.", replaced(act, '"spam"', "null")],
    ["with-largest-id", "The id 2^53 - 1.", replaced(post, '"id":12', '"id":9007199254740991')],
    [
      "with-escapes",
      "Controls in ASCII as canonical JSON writes them.",
      replaced(post, "{", '{"a":"\\b\\u001f\\"\\\\/\u007f",'),
    ],
  ];
  const contents = [
    ["agent", "agent", texts.agent],
    ["community", "community", texts.community],
    ["post", "post", texts.post],
    ["comment", "comment", texts.comment],
  ] as const;
  return {
    ...Object.fromEntries(types),
    ...Object.fromEntries(
      more.map(([name, description, entry]) => [
        `entry-${name}`,
        ofEntry.good(description, { entry }, { type: JSON.parse(entry).type }),
      ]),
    ),
    ...Object.fromEntries(
      contents.map(([name, kind, value]) => {
        const content = formatContent(kind, value as never);
        const result = { commitment: commitment(Buffer.from(salt, "hex"), content, sha256) };
        return [`content-${name}`, ofContent.good(`The text of ${kind}.`, { kind, content, salt }, result)];
      }),
    ),
    "content-with-members-of-later-versions": laterContent(),
    policy: ofPolicy.good(
      "A log and its address.",
      { policy: `log ${vkey} ${url}\nquorum none\n` },
      { logs: [{ vkey, url }] },
    ),
    "policy-without-logs": ofPolicy.good("The quorum alone.", { policy: "quorum none\n" }, { logs: [] }),
    "policy-with-comments": ofPolicy.good(
      "Comments, empty lines, tabs, spaces around words.",
      { policy: `# Trusted — so far\n\n \t\n\tquorum  none \n #log x\n log\t${vkey}\n` },
      { logs: [{ vkey, url: null }] },
    ),
  };
}

function laterContent() {
  const content = '{"agent":4,"body":"","signature":"x"}';
  const result = { commitment: commitment(Buffer.from(salt, "hex"), content, sha256) };
  return ofContent.good("Unknown members.", { kind: "comment", content, salt }, result);
}

export async function invalidEntries(): Promise<LogVectors> {
  const changes: [string, string, string][] = [
    ["of-1025-bytes", "An entry has at most 1,024 bytes.", ofLength(1025)],
    ["not-ascii", "A letter beyond ASCII.", replaced(post, "{", '{"a":"é",')],
    ["with-white-space", "A space after a comma.", replaced(post, ",", ", ")],
    ["with-line-end", "A line feed follows.", `${post}\n`],
    ["with-unsorted-members", "type comes before ts.", post.replace(/("ts":"[^"]*"),("type":"post")/, "$2,$1")],
    ["with-duplicate-member", "id twice; parsers take one or the other.", replaced(post, '"id":12', '"id":12,"id":13')],
    ["with-escaped-letter", "A letter that is escaped.", replaced(post, '"type":"post"', '"type":"p\\u006fst"')],
    ["with-float", "1.0 is written 1.", replaced(post, '"v":1', '"v":1.0')],
    ["not-an-object", "An array.", `[${post}]`],
    ["cut-off", "The last character is missing.", post.slice(0, -1)],
    ["without-ts", "There is no ts.", replaced(post, /"ts":"[^"]*",/, "")],
    ["without-v", "There is no v.", replaced(post, ',"v":1', "")],
    ["without-type", "There is no type.", replaced(post, '"type":"post",', "")],
    ["without-content", "There is no content.", replaced(post, /"content":"[^"]*",/, "")],
    [
      "without-parent",
      "There is no parent; it is null if the comment replies to none.",
      replaced(comment, '"parent":null,', ""),
    ],
    ["without-reason", "There is no reason; it is null if there is none.", replaced(act, '"reason":"spam",', "")],
    ["of-version-2", "v is 2.", replaced(post, '"v":1', '"v":2')],
    ["with-id-0", "An id is at least 1.", replaced(post, '"id":12', '"id":0')],
    ["with-id-2-to-the-53", "An id is at most 2^53 - 1.", replaced(post, '"id":12', '"id":9007199254740992')],
    ["with-id-as-string", "The id is a string.", replaced(post, '"id":12', '"id":"12"')],
    ["with-id-true", "The id is a boolean.", replaced(post, '"id":12', '"id":true')],
    [
      "with-content-in-capitals",
      "Hex has small letters.",
      post.replace(/"content":"[^"]*"/, (text) => `"content":"${text.slice(11, -1).toUpperCase()}"`),
    ],
    ["with-short-content", "62 digits.", post.replace(/"content":"[^"]*"/, (text) => `${text.slice(0, -3)}"`)],
    ["with-day-that-is-not-there", "30 February.", replaced(post, "2026-01-31", "2026-02-30")],
    ["with-time-without-milliseconds", "A time has milliseconds.", replaced(post, ".480Z", "Z")],
    ["with-capital-in-type", "A word has small letters.", replaced(post, '"post"', '"Post"')],
    ["imported-false", "imported is true or absent.", replaced(post, '"ts"', '"imported":false,"ts"')],
    ["with-empty-origin", "The origin is empty.", replaced(log, `"origin":"${origin}"`, '"origin":""')],
    [
      "with-previous-of-size-0",
      "A log that is replaced has entries.",
      replaced(log, '"ts"', `"previous":{"origin":"old","root":"${"ef".repeat(32)}","size":0,"vkey":"k"},"ts"`),
    ],
    ["with-lone-surrogate", "Half a character.", replaced(post, "{", '{"a":"\\ud800",')],
  ];
  const { agent, body, community, title } = texts.post;
  const contents: [string, string, string][] = [
    ["without-title", "There is no title.", JSON.stringify({ agent, body, community })],
    ["with-agent-null", "A post has an agent.", JSON.stringify({ agent: null, body, community, title })],
    [
      "with-community-as-name",
      "The community is a number.",
      JSON.stringify({ agent, body, community: "general", title }),
    ],
    ["with-white-space", "A space.", replaced(formatContent("post", texts.post), ",", ", ")],
    ["with-duplicate-member", "body twice.", replaced(formatContent("post", texts.post), '"body"', '"body":"","body"')],
  ];
  const otherName = formatVkey(await testKey("other.example/log"));
  const policies: [string, string, string][] = [
    ["without-quorum", "There is no quorum.", `log ${vkey} ${url}\n`],
    ["with-two-quorums", "Two of them.", `log ${vkey} ${url}\nquorum none\nquorum none\n`],
    ["with-witnesses", "This version knows no witnesses.", `log ${vkey} ${url}\nwitness w ${otherName}\nquorum w\n`],
    ["with-three-words-of-a-log", "A word too many.", `log ${vkey} ${url} ${url}\nquorum none\n`],
    ["with-one-key-twice", "Two names with one public key.", `log ${vkey}\nlog ${otherName}\nquorum none\n`],
    ["without-last-line-end", "The last line does not end.", `log ${vkey} ${url}\nquorum none`],
    ["with-carriage-returns", "Lines end with CR and LF.", `log ${vkey} ${url}\r\nquorum none\r\n`],
    ["with-capitals", "A word has small letters.", `LOG ${vkey} ${url}\nquorum none\n`],
  ];
  const named = (
    prefix: string,
    list: [string, string, string][],
    of: (description: string, text: string) => LogVectors[string],
  ) => Object.fromEntries(list.map(([name, description, text]) => [`${prefix}-${name}`, of(description, text)]));
  return {
    ...named("entry", changes, (description, entry) => ofEntry.bad("bad_entry", description, { entry })),
    "entry-not-utf8": ofEntry.bad("bad_entry", "A byte that is no UTF-8.", {
      entry_base64: base64(Buffer.concat([Buffer.from(post.slice(0, -1)), Buffer.of(0xff, 0x7d)])),
    }),
    ...named("content", contents, (description, content) =>
      ofContent.bad("bad_content", description, { kind: "post", content, salt }),
    ),
    ...named("policy", policies, (description, policy) => ofPolicy.bad("bad_policy", description, { policy })),
    "policy-with-bad-key": ofPolicy.bad("bad_key", "The id of the key is wrong.", {
      policy: `log ${replaced(vkey, sampleKey.id, "00000000")} ${url}\nquorum none\n`,
    }),
  };
}

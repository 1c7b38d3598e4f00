// What was seen before, as a file beside a test: a change that is no change of behaviour gives the same again.
import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, expect } from "vitest";

/**
 * Compares what a test sees with what was recorded. `STOA_RECORD=1 npm test -- <file>` records it anew; the commit then says
 * why each difference is right.
 * @param url of the file with the recording
 */
export function recordingIn(url: URL): (name: string, seen: unknown) => void {
  const isRecording = process.env.STOA_RECORD === "1";
  const recorded = new Map<string, unknown>();
  if (isRecording) {
    afterAll(() => {
      const lines = [...recorded].sort(([one], [other]) => (one < other ? -1 : 1));
      const text = lines.map(([name, seen]) => `${JSON.stringify(name)}: ${JSON.stringify(seen)}`).join(",\n");
      writeFileSync(url, `{\n${text}\n}\n`);
    });
  } else {
    const all = JSON.parse(readFileSync(url, "utf8")) as Record<string, unknown>;
    for (const [name, seen] of Object.entries(all)) recorded.set(name, seen);
  }
  return (name, seen) => {
    const asJson = JSON.parse(JSON.stringify(seen));
    if (isRecording) recorded.set(name, asJson);
    else expect(asJson, name).toEqual(recorded.get(name));
  };
}

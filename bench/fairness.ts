// Before the measurement, both sides must give the same replies. The routes that save round trips as the service does, and those
// that have none to save, must also send the same statements. Otherwise the ratios mean nothing.
import type { Pool, RowDataPacket } from "mysql2/promise";
import { type Call, type Case, savesRoundTrips } from "./cases.ts";
import type { Sides } from "./measure.ts";
import { handWritten, improved, type Protocol, type Request } from "./protocols.ts";

/**
 * Compares replies and statements of both sides for each case.
 * @returns notes for the report about comparisons that were impossible
 * @throws Error that names the first difference
 */
export async function checkFairness(cases: Case[], sides: Sides, admin: Pool): Promise<string[]> {
  const log = await openStatementLog(admin);
  try {
    for (const each of cases) {
      for (const protocol of savesRoundTrips(each) ? [handWritten, improved] : [handWritten]) {
        // Timed work of the service may add a statement once. A real difference appears again.
        await compare(each, protocol, sides, log).catch(() => compare(each, protocol, sides, log));
      }
    }
  } finally {
    await log?.close();
  }
  return log === undefined ? ["The account may not read the general log: statements were not compared."] : [];
}

async function compare(each: Case, byHand: Protocol, sides: Sides, log: StatementLog | undefined): Promise<void> {
  const { name, kind, calls } = each;
  const [first, second] = calls(0) as [Call, Call];
  let service: Outcome;
  let baseline: Outcome;
  if (name.startsWith("vote")) {
    // The vote is up before. The service changes it to down, and the hand-written route back to up.
    await ask(sides.service.child.url, second);
    await ask(sides.service.child.url, first);
    service = await observe(sides.service.child.url, second, log);
    baseline = await observe(sides.baseline.child.url, first, log, byHand);
  } else {
    await ask(sides.service.child.url, first);
    await ask(sides.baseline.child.url, first, byHand);
    service = await observe(sides.service.child.url, first, log);
    baseline = await observe(sides.baseline.child.url, first, log, byHand);
  }
  const [expected, actual] =
    kind === "read" ? [service.text, baseline.text] : [shapeOf(service.text), shapeOf(baseline.text)];
  if (expected !== actual) {
    throw new Error(`${name}: the replies differ; bring bench/baseline up to date.\n  ${expected}\n  ${actual}`);
  }
  // Plain routes are as one would first write them.
  if (savesRoundTrips(each) && byHand === handWritten) return;
  if (service.statements.join("\n") !== baseline.statements.join("\n")) {
    throw new Error(
      `${name}: the statements differ; bring bench/baseline up to date.\nservice:\n  ${service.statements.join("\n  ")}\n` +
        `hand-written:\n  ${baseline.statements.join("\n  ")}`,
    );
  }
}

interface Outcome {
  text: string;
  statements: string[];
}

async function observe(
  url: string,
  call: Call,
  log: StatementLog | undefined,
  protocol = handWritten,
): Promise<Outcome> {
  await log?.clear();
  const text = await ask(url, call, protocol);
  return { text, statements: (await log?.read()) ?? [] };
}

async function ask(url: string, call: Call, protocol = handWritten): Promise<string> {
  const { method, path, headers, body }: Request = protocol.encode(call);
  const response = await fetch(url + path, { method, headers, ...(body ? { body: new Uint8Array(body) } : {}) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answers ${response.status}: ${text}`);
  return text;
}

/** Returns the names and types in a JSON text, in their order. */
function shapeOf(text: string): string {
  return JSON.stringify(JSON.parse(text, (_name, value) => (typeof value === "object" ? value : typeof value)));
}

interface StatementLog {
  clear(): Promise<void>;
  /** Returns the statements that other connections sent since then, with normalised numbers and spaces. */
  read(): Promise<string[]>;
  close(): Promise<void>;
}

async function openStatementLog(admin: Pool): Promise<StatementLog | undefined> {
  try {
    await admin.query("SET GLOBAL log_output = 'TABLE'");
    await admin.query("SET GLOBAL general_log = ON");
    await admin.query("TRUNCATE TABLE mysql.general_log");
  } catch {
    return undefined;
  }
  return {
    clear: async () => void (await admin.query("TRUNCATE TABLE mysql.general_log")),
    async read() {
      const [rows] = await admin.query<RowDataPacket[]>(
        `SELECT argument FROM mysql.general_log
         WHERE command_type IN ('Execute', 'Query') AND thread_id <> CONNECTION_ID()`,
      );
      // MySQL returns bytes that contain a raw key hash. Only latin1 can decode every byte.
      return rows
        .map(({ argument }) => (Buffer.isBuffer(argument) ? argument.toString("latin1") : (argument as string)))
        .map((text) =>
          text
            .replace(/\s+/g, " ")
            .replace(/-?\d+(?:\.\d+)?/g, "N")
            .trim(),
        )
        .filter((text) => !text.startsWith("SET "));
    },
    close: async () => void (await admin.query("SET GLOBAL general_log = OFF")),
  };
}

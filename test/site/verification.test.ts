// The verification on a receipt's page, in a real browser, through a proxy that changes responses as a test wants.
import type { Page } from "playwright-core";
import { afterEach, describe, expect, it } from "vitest";
import { fill, startLedger, TestClock } from "../ledger/support.ts";
import { openPage, startBrowser } from "../support/browser.ts";
import { serveHttp } from "../support/http-server.ts";

const length = 40;
const at = 20;
/** It stands still, so that no day ends and is sealed. */
const clock = new TestClock("2026-01-05T12:00:00Z");

/** Returns another body for a response, or undefined to leave it as it is. */
let alter: ((path: string, body: string) => string | undefined) | undefined;
/** Returns a status with which the proxy answers itself, or undefined to pass the request on. */
let refuse: ((path: string) => number | undefined) | undefined;
/** Returns whether the proxy never answers the request. */
let hang: ((path: string) => boolean) | undefined;

// Over plain HTTP only localhost is a secure context. The other name resolves to the same address.
const args = ["--host-resolver-rules=MAP stoa.test 127.0.0.1"];
const [service, browser] = await Promise.all([startLedger({ clock }), startBrowser(args)]);
/** The page of all tests that need no host of their own. */
const shared = await openPage(browser);
await fill(service.db, length - 1);
const { url: proxy } = await serveHttp(async (request, response) => {
  const path = request.url as string;
  if (hang?.(path)) return;
  const status = refuse?.(path);
  if (status !== undefined) {
    const body = JSON.stringify({ ok: false, error: "unavailable", message: "Not now." });
    response.writeHead(status, { "content-type": "application/json" }).end(body);
    return;
  }
  const reply = await fetch(service.url + path, { headers: { accept: request.headers.accept ?? "*/*" } });
  const body = await reply.text();
  const headers = [...reply.headers].filter(
    ([name]) => !/^(content-(length|encoding)|transfer|connection|keep)/.test(name),
  );
  // The pages of all tests share the browser's cache, which must not answer for the proxy.
  const caching = path.startsWith("/assets/") ? {} : { "cache-control": "no-store" };
  response.writeHead(reply.status, { ...Object.fromEntries(headers), ...caching }).end(alter?.(path, body) ?? body);
});

afterEach(() => {
  alter = undefined;
  refuse = undefined;
  hang = undefined;
});

/** Opens a receipt's page, presses a button and waits for the verdict. */
async function verify(seq: number, button: RegExp): Promise<{ kind: string; text: string; faults: string[] }> {
  const { page, faults } = shared;
  faults.length = 0;
  await page.goto(`${proxy}/house/receipts/${seq}`);
  await page.getByRole("button", { name: button }).click();
  return { ...(await verdictOf(page)), faults: [...faults] };
}

async function verdictOf(page: Page): Promise<{ kind: string; text: string }> {
  await page.locator("#verification[aria-busy=false]").waitFor();
  const verdict = page.getByRole("status");
  const classes = (await verdict.getAttribute("class")) ?? "";
  return { kind: classes.replace("verdict", "").trim(), text: await verdict.innerText() };
}

const alone = /^Verify this receipt$/;
const toStart = /back to the start/;
const toHead = /on to the newest/;

/** Changes the receipts of a stream, one per line. */
function alterStream(change: (receipt: Record<string, unknown>) => Record<string, unknown> | undefined) {
  return (path: string, body: string) =>
    path.includes("/stream?")
      ? body
          .trimEnd()
          .split("\n")
          .flatMap((line) => {
            const changed = change(JSON.parse(line));
            return changed === undefined ? [] : [`${JSON.stringify(changed)}\n`];
          })
          .join("")
      : undefined;
}

async function hashOf(seq: number): Promise<string> {
  return (await service.rest(`house/receipts/${seq}`)).body.receipt.hash;
}

it("a valid chain verifies: one receipt, back to the start, and on to the newest", async () => {
  const first = await verify(at, alone);
  expect(first).toMatchObject({ kind: "good", faults: [] });
  expect(first.text).toContain(`Receipt ${at} has the hash ${await hashOf(at)}`);
  const second = await verify(at, toStart);
  expect(second).toMatchObject({ kind: "good", faults: [] });
  expect(second.text).toContain(`receipts 1 to ${at}, ${at} in all`);
  const third = await verify(at, toHead);
  expect(third).toMatchObject({ kind: "good", faults: [] });
  expect(third.text).toContain(`receipts ${at} to ${length}, ${length - at + 1} in all`);
  expect(third.text).toContain(`Receipt ${length} has the hash ${await hashOf(length)}`);
  expect((await verify(1, toHead)).text).toContain(`receipts 1 to ${length}`);
  expect(await verify(length, toHead)).toMatchObject({ kind: "good", faults: [] });
});

describe("the verdict is red", () => {
  it("if the bytes of the receipt have changed", async () => {
    alter = (path, body) => (path.endsWith(`/${at}/canonical`) ? body.replace('"note":""', '"note":"x"') : undefined);
    const { kind, text } = await verify(at, alone);
    expect(kind).toBe("bad");
    expect(text).toContain(`Receipt ${at} is the first that does not: the bytes hash to`);
    expect(text).toContain(`this page shows ${await hashOf(at)}`);
  });

  it("if the document beside the bytes has changed", async () => {
    alter = alterStream((receipt) => (receipt.seq === 30 ? { ...receipt, document: { v: 1 } } : receipt));
    const { kind, text } = await verify(at, toHead);
    expect(kind).toBe("bad");
    expect(text).toContain("Receipt 30 is the first that does not");
    expect(text).toContain("wrong_document");
  });

  it("if receipts are missing in the middle or at the end", async () => {
    alter = alterStream((receipt) => (receipt.seq === 25 ? undefined : receipt));
    expect((await verify(at, toHead)).text).toContain("Receipt 25 is the first that does not: receipt 26 comes where");
    alter = alterStream((receipt) => ((receipt.seq as number) > 35 ? undefined : receipt));
    const { kind, text } = await verify(at, toHead);
    expect(kind).toBe("bad");
    expect(text).toContain("Receipt 36 is the first that does not");
  });
});

it("there is no verdict if the service does not answer", async () => {
  refuse = (path) => (path.includes("/stream?") ? 503 : undefined);
  const { kind, text } = await verify(at, toStart);
  expect(kind).toBe("");
  expect(text).toContain("Not verified");
  expect(text).toContain("neither that the chain is good nor that it is not");
});

it("a verification can be cancelled and started again", async () => {
  hang = (path) => path.includes("/stream?");
  const { page, faults } = shared;
  faults.length = 0;
  await page.goto(`${proxy}/house/receipts/${at}`);
  const waiting = page.waitForRequest(/\/stream\?/);
  await page.getByRole("button", { name: toStart }).click();
  await waiting;
  expect(await page.getByRole("button", { name: alone }).isDisabled()).toBe(true);
  expect(await page.getByRole("progressbar").isVisible()).toBe(true);
  await page.getByRole("button", { name: "Cancel" }).click();
  expect((await verdictOf(page)).text).toContain("Cancelled");
  hang = undefined;
  await page.getByRole("button", { name: toStart }).click();
  await page.locator(".verdict.good").waitFor();
  expect(await page.getByRole("button", { name: "Cancel" }).isVisible()).toBe(false);
  expect(faults).toEqual([]);
});

it("a browser without cryptography gets an explanation", async () => {
  const { page, faults, close } = await openPage(browser);
  await page.goto(`${proxy.replace("127.0.0.1", "stoa.test")}/house/receipts/${at}`);
  await page.getByText("computes hashes only for pages that come over https or from this machine").waitFor();
  expect(await page.locator("main button:visible").count()).toBe(0);
  // The browser also warns that Cross-Origin-Opener-Policy has no effect there.
  expect(faults.filter((fault) => !fault.includes("Cross-Origin-Opener-Policy"))).toEqual([]);
  await close();
});

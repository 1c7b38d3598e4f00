import { hash } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";
import type { Receipt, VerifyCommands } from "../../gen/stoa/v1/receipt_pb.js";
import type { ReceiptRow } from "../ledger/ledger.ts";
import { parseJson } from "../receipt/parse.ts";

/**
 * Makes the receipts of the contract from stored ones. They are object literals, because `create` would take as long as
 * everything else. `siteUrl` is the root address without a slash at its end.
 */
export class ReceiptMapper {
  readonly #siteUrl: string;

  constructor(siteUrl: string) {
    this.#siteUrl = siteUrl;
  }

  /** @param failsAt the first receipt that does not verify, where one is known */
  receipt(row: ReceiptRow, failsAt?: number): Receipt {
    const { seq, hash, prev_hash, canonical } = row;
    const site = this.#siteUrl;
    const text = canonical.toString("utf8");
    const document = readDocument(text);
    return {
      $typeName: "stoa.v1.Receipt",
      kind: "",
      seq: BigInt(seq),
      ref: `r:${seq}`,
      ...documentMembers(document),
      hash,
      prevHash: prev_hash,
      canonical: text,
      url: `${site}/house/receipts/${seq}`,
      apiUrl: `${site}/api/v1/house/receipts/${seq}`,
      canonicalUrl: this.#canonicalUrl(seq),
      ...(seq === failsAt || !isIntact(row, document) ? { damaged: true } : {}),
    };
  }

  /** The site's address has no character that is special to a shell: config/values.ts refuses others. */
  verifyCommands({ seq, hash }: ReceiptRow): VerifyCommands {
    const site = this.#siteUrl;
    const digest = "sha256sum | cut -d' ' -f1";
    const bytes = `curl -s '${this.#canonicalUrl(seq)}'`;
    const prev = seq === 1 ? "printf '%064d\\n' 0" : `curl -s '${this.#canonicalUrl(seq - 1)}' | ${digest}`;
    return {
      $typeName: "stoa.v1.VerifyCommands",
      rebuild: `curl -s '${site}/api/v1/house/receipts/${seq}' | jq -cS .receipt.document | tr -d '\\n' | ${digest}`,
      bytes: `${bytes} | ${digest}`,
      // The service is not asked whether it is right.
      chain: `test "$(${bytes} | jq -r .prev_hash)" = "$(${prev})" && echo true || echo false`,
      prev,
      expect: hash,
    };
  }

  #canonicalUrl(seq: number): string {
    return `${this.#siteUrl}/api/v1/house/receipts/${seq}/canonical`;
  }
}

/**
 * The document of a receipt as an object; undefined if somebody has changed it into something else. Then only the bytes are
 * shown, as they are.
 */
function readDocument(text: string): JsonObject | undefined {
  try {
    const document: unknown = parseJson(text);
    return typeof document === "object" && document !== null && !Array.isArray(document)
      ? (document as JsonObject)
      : undefined;
  } catch {
    return undefined;
  }
}

function documentMembers(document: JsonObject | undefined): { document?: JsonObject; kind?: string } {
  if (document === undefined) return {};
  return typeof document.kind === "string" ? { document, kind: document.kind } : { document };
}

/**
 * Whether a stored receipt agrees with itself: its bytes hash to its hash, and its document has its seq and its prev_hash.
 * Only a verification can tell whether the chain is right.
 */
function isIntact({ seq, hash: stored, prev_hash, canonical }: ReceiptRow, document: JsonObject | undefined): boolean {
  return document?.seq === seq && document.prev_hash === prev_hash && hash("sha256", canonical) === stored;
}

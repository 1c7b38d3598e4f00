import { type ErrorCode, errorStatus, type StoaError } from "../../errors.ts";
import { html } from "../html.ts";
import type { Page } from "../layout.ts";
import { counted } from "../text.ts";

const titles: Partial<Record<ErrorCode, string>> = {
  bad_input: "This address asks for something that cannot be",
  bad_json: "This address asks for something that cannot be",
  not_found: "Nothing stands here",
  rate_limited: "A little slower, please",
  too_large: "That was too much at once",
  unavailable: "The hall is closed for a moment",
  internal: "Something went wrong here",
};

/** A failure as people are told of it. `requestId` lets the operator find it in the log. */
export function errorView(error: StoaError, requestId: string): Page {
  const { code, message, retryAfterSeconds } = error;
  const title = titles[code] ?? "This did not work";
  return {
    title: `${title} · Stoa`,
    description: message,
    path: undefined,
    main: html`<div class="error">
<p class="status" aria-hidden="true">${errorStatus[code]}</p>
<h1>${title}</h1>
<p dir="auto">${message}</p>
${retryAfterSeconds !== undefined && html`<p>Please try again in ${counted(retryAfterSeconds, "second")}.</p>`}
<p><a href="/">To the board</a></p>
${errorStatus[code] >= 500 && html`<p class="note">Request ${requestId}</p>`}
</div>`,
  };
}

import { errorTexts } from "../../contract/error-texts.ts";
import { errorStatus, type StoaError } from "../../errors.ts";
import { html } from "../html.ts";
import type { Page } from "../layout.ts";
import { counted } from "../text.ts";

/** An error page. @param requestId by which the operator finds the error in the log */
export function errorView(error: StoaError, requestId: string): Page {
  const { code, message, retryAfterSeconds } = error;
  const { title } = errorTexts[code];
  return {
    title: `${title} · Stoa`,
    description: message,
    path: undefined,
    main: html`<div class="error">
<p class="status" aria-hidden="true">${errorStatus[code]}</p>
<h1>${title}</h1>
<p dir="auto">${message}</p>
${retryAfterSeconds !== undefined && html`<p>Please try again in ${counted(retryAfterSeconds, "second")}.</p>`}
<p><a href="/">Go to the board</a></p>
${errorStatus[code] >= 500 && html`<p class="note">Request ${requestId}</p>`}
</div>`,
  };
}

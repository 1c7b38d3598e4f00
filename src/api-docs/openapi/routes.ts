import type { DescService } from "@bufbuild/protobuf";
import { SharedForms } from "../../calls/shared-forms.ts";
import type { RegistrationMode } from "../../contract/registration.ts";
import type { Router } from "../../http/edge/router.ts";
import { Precompressed } from "../../http/replies/precompressed.ts";
import { describeApi, sitePlaceholder } from "./document.ts";
import type { Schema } from "./schema.ts";
import { addViewer, type Frame } from "./viewer.ts";

/** The paths of the description. */
export const documentPath = { json: "/api/v1/openapi.json", yaml: "/api/v1/openapi.yaml" };

/**
 * Adds the description of the API as JSON and YAML, each written at its first request, and a page that shows it.
 * @param registration who may register agents
 * @param siteUrl the public root address
 * @param frame puts the page into the frame of the site
 */
export function addOpenApiRoutes(
  router: Router,
  services: readonly DescService[],
  registration: RegistrationMode,
  siteUrl: string,
  frame: Frame,
): void {
  const forms = new SharedForms();
  const add = (path: string, contentType: string, write: (document: Schema) => string | Promise<string>) => {
    const make = async () =>
      new Precompressed((await write(describeApi(services, registration))).replaceAll(sitePlaceholder, siteUrl), {
        "content-type": contentType,
        "cache-control": "public, no-cache",
        // Tools on other origins read it.
        "access-control-allow-origin": "*",
      });
    router.get(path, { serve: async (request) => (await forms.get(path, make)).reply(request) });
  };
  add(documentPath.json, "application/json; charset=utf-8", (document) => JSON.stringify(document, null, 2));
  add(documentPath.yaml, "application/yaml; charset=utf-8", async (document) => {
    const { stringify } = await import("yaml");
    // Examples are repeated instead of being referred to by anchors.
    return stringify(document, { aliasDuplicateObjects: false, blockQuote: "literal", lineWidth: 0 });
  });
  addViewer(router, documentPath, frame);
}

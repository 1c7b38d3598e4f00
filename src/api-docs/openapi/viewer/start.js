// Starts Swagger UI on the page of viewer.ts. It sends nothing to other servers: no validator, no remote documents.
const viewer = document.getElementById("viewer");

const dark = matchMedia("(prefers-color-scheme: dark)");
const followScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followScheme);
followScheme();

// Swagger UI's own layout has a second <main>, no heading above the groups, and a choice of servers without a name.
const forOurPage = ({ React: { createElement: element } }) => ({
  components: {
    PageLayout: ({ getComponent, specSelectors }) => {
      const show = (name) => element(getComponent(name, true));
      const parts = [show("errors")];
      if (specSelectors.loadingStatus() === "success") {
        const operations = element("h2", null, "Operations");
        parts.push(
          show("InfoContainer"),
          show("AuthorizeBtnContainer"),
          operations,
          show("operations"),
          show("Models"),
        );
      }
      return element("div", { className: "swagger-ui" }, ...parts);
    },
    // Swagger UI has a link inside a button here. The button alone opens the operation and sets the same address.
    DeepLink: ({ text }) => element("span", null, text),
  },
});

// What Swagger UI leaves without a name, or without a way to reach it by keyboard. It adds these parts when an operation opens.
const mends = {
  "select.examples-select-element": (each) => each.setAttribute("aria-label", "Example"),
  "tr[data-param-name] select": (each) => each.setAttribute("aria-label", each.closest("tr").dataset.paramName),
  "textarea.body-param__text": (each) => each.setAttribute("aria-label", "Body"),
  "pre.microlight": (each) => each.setAttribute("tabindex", "0"),
  // Regions of the same name are no landmarks.
  "table.responses-table[role]": (each) => each.removeAttribute("role"),
};
new MutationObserver(() => {
  for (const [selector, mend] of Object.entries(mends)) {
    for (const each of viewer.querySelectorAll(`${selector}:not([data-mended])`)) {
      each.dataset.mended = "";
      mend(each);
    }
  }
}).observe(viewer, { childList: true, subtree: true });

window.SwaggerUIBundle({
  domNode: viewer,
  url: viewer.dataset.document,
  layout: "PageLayout",
  presets: [window.SwaggerUIBundle.presets.apis],
  plugins: [forOurPage],
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  showCommonExtensions: true,
  syntaxHighlight: { theme: "arta" },
  validatorUrl: null,
});

// Starts Swagger UI on the page of viewer.ts. It sends nothing to other servers: no validator, no remote documents.
const viewer = document.getElementById("viewer");

const dark = matchMedia("(prefers-color-scheme: dark)");
const followScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followScheme);
followScheme();

window.SwaggerUIBundle({
  domNode: viewer,
  url: viewer.dataset.document,
  layout: "BaseLayout",
  presets: [window.SwaggerUIBundle.presets.apis],
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  showCommonExtensions: true,
  validatorUrl: null,
});

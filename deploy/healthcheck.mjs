// The health check of the image: exits with 0 if the service of this container answers at /healthz.
import { request as http } from "node:http";
import { request as https } from "node:https";

// An empty setting counts as absent.
const { STOA_PORT, STOA_TLS_CERT } = process.env;
const port = STOA_PORT || 8080;
// The certificate is for the public name. It proves nothing about this container.
const request = STOA_TLS_CERT ? https : http;
const fail = () => process.exit(1);
request({ host: "127.0.0.1", port, path: "/healthz", timeout: 2000, rejectUnauthorized: false }, (response) =>
  process.exit(response.statusCode === 200 ? 0 : 1),
)
  .on("error", fail)
  .on("timeout", fail)
  .end();

// Writes proto/stoa/v1/grpc_service_config.json from the contract.
import { writeFileSync } from "node:fs";
import { serviceConfig } from "./lib/service-config.ts";

writeFileSync(new URL("../proto/stoa/v1/grpc_service_config.json", import.meta.url), await serviceConfig());

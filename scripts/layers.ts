// Writes scripts/biome.layers.json, the lint rules of the layers.
import { writeFileSync } from "node:fs";
import { layerSettings } from "./lib/layers.ts";

writeFileSync(new URL("biome.layers.json", import.meta.url), layerSettings());

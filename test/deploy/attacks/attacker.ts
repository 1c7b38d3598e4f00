// Makes one attack on a port of this machine until its parent disconnects, and for two minutes at most.
//   node attacker.ts ATTACK PORT
// It tells its parent when the attack is in full swing, and what it has done when it is asked.
import { setPriority } from "node:os";
import { attacks } from "./attacks.ts";
import type { Attack, Target } from "./target.ts";

const longestMs = 120_000;

const [name = "", port = ""] = process.argv.slice(2);
// Attackers have machines of their own. This one shall not take the processor from those who serve.
setPriority(19);
setTimeout(() => process.exit(1), longestMs);
process.once("disconnect", () => process.exit());
const target: Target = { port: Number(port), tally: {} };
process.on("message", () => process.send?.(target.tally));
await (attacks[name] as Attack)(target);
process.send?.("in full swing");

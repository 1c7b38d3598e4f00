// Loaded into an attacked service before its own code: it answers its parent with the longest block of the event loop.
import { monitorEventLoopDelay } from "node:perf_hooks";

const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
process.on("message", () => {
  process.send?.({ longestBlockMs: delay.max / 1e6 });
  delay.reset();
});
process.once("disconnect", () => process.exit(1));
// The channel to the parent must not keep a service alive that stops.
process.channel?.unref();

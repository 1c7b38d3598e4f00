// Loaded into an attacked service before its own code: it answers its parent with the longest blocks of the event loop.
import { monitorEventLoopDelay } from "node:perf_hooks";

const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();

let longestCpuMs = 0;
let before = process.threadCpuUsage();
// Each turn of the event loop runs this at most once. A block keeps it waiting, so one interval holds all of the block.
const timer = setInterval(() => {
  const now = process.threadCpuUsage();
  longestCpuMs = Math.max(longestCpuMs, (now.user - before.user + now.system - before.system) / 1000);
  before = now;
}, 5);
timer.unref();

process.on("message", () => {
  process.send?.({ longestMs: delay.max / 1e6, longestCpuMs });
  delay.reset();
  longestCpuMs = 0;
});

// Those who serve come before others on this machine: their times are measured, and not how busy the machine is.
import { setPriority } from "node:os";

/** Raises the priority of this process, and of all that it will start. Others than root may not. */
export default function setup(): void {
  if (process.getuid?.() === 0) setPriority(-15);
}

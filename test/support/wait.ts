/** Resolves when `holds` returns true; for conditions without an event. @throws Error after the deadline */
export async function waitUntil(
  what: string,
  holds: () => boolean | Promise<boolean>,
  deadlineMs = 50_000,
): Promise<void> {
  const end = Date.now() + deadlineMs;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`waited ${deadlineMs} ms without success for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

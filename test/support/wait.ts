/** Resolves when the day (UTC) does not end within the next minute, in which a service or a command would seal it. */
export async function untilDayLasts(): Promise<void> {
  const dayMs = 86_400_000;
  const end = Math.ceil(Date.now() / dayMs) * dayMs;
  if (end - Date.now() < 60_000) await waitUntil("midnight", () => Date.now() >= end, 90_000);
}

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

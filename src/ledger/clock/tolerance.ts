/** How far the clocks of the service, the database and the newest receipt may differ, in milliseconds. */
export const toleranceMs = 60_000;

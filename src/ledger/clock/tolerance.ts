/** How far the clocks of the service, the database and the newest receipt may be apart, in milliseconds. */
export const toleranceMs = 60_000;

/** A duration for people, in its two largest units: 1095 d 3 h, 2 h 5 min, 1 min 20 s. The sign is omitted. */
export function describeDuration(ms: number): string {
  const seconds = Math.round(Math.abs(ms) / 1000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  if (days > 0) return `${days} d ${hours % 24} h`;
  if (hours > 0) return `${hours} h ${minutes % 60} min`;
  return `${minutes} min ${seconds % 60} s`;
}

// Ages of things, relative to now.

// "12 s ago", "3 min ago", "2 h ago"; for older times the date.
export function formatAge(iso: string, now: number = Date.now()): string {
  const then = Date.parse(iso);
  if (Number.isNaN(then)) return '';
  const seconds = Math.max(0, Math.round((now - then) / 1000));
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  return iso.slice(0, 10);
}

// The time of day, with the date unless it is today.
export function clockTime(iso: string, now: Date = new Date()): string {
  const then = new Date(iso);
  if (Number.isNaN(then.getTime())) return iso;
  const time = then.toLocaleTimeString('en-GB');
  return then.toDateString() === now.toDateString() ? time : `${then.toLocaleDateString('en-CA')} ${time}`;
}

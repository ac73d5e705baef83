const DAY_MS = 86_400_000;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** "20 Nov 2026, 17:19 UTC"; with seconds where they matter. */
export function formatUtc(iso: string, seconds = false): string {
  const at = new Date(iso);
  return `${formatDay(iso)}, ${two(at.getUTCHours())}:${two(at.getUTCMinutes())}${seconds ? `:${two(at.getUTCSeconds())}` : ''} UTC`;
}

/** "20 Nov, 17:19:05" for a column headed UTC; with the year if it is not the current one. */
export function formatShortUtc(iso: string, nowMs: number): string {
  const at = new Date(iso);
  const year = at.getUTCFullYear() === new Date(nowMs).getUTCFullYear() ? '' : ` ${at.getUTCFullYear()}`;
  const time = `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())}`;
  return `${at.getUTCDate()} ${MONTHS[at.getUTCMonth()]}${year}, ${time}`;
}

/** "20 Nov 2026". */
export function formatDay(iso: string): string {
  const at = new Date(iso);
  return `${at.getUTCDate()} ${MONTHS[at.getUTCMonth()]} ${at.getUTCFullYear()}`;
}

/** A tick of a chart's axis: "20 Nov", or "17:00" by the hour. */
export function formatTick(iso: string, by: 'day' | 'hour'): string {
  const at = new Date(iso);
  return by === 'day' ? `${at.getUTCDate()} ${MONTHS[at.getUTCMonth()]}` : `${two(at.getUTCHours())}:00`;
}

/** "November 2026" for "2026-11". */
export function formatMonth(month: string): string {
  return new Date(`${month}-01T00:00:00Z`).toLocaleDateString('en-GB', {
    month: 'long',
    year: 'numeric',
    timeZone: 'UTC',
  });
}

/** Formats a time in the reader's own zone, for the hover text. */
export function formatLocal(iso: string): string {
  return `${new Date(iso).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })} your time`;
}

/** "2 d 4 h", "3 h 12 min", "4 min 10 s": two parts, rounded down; "now" if the time has passed. */
export function formatCountDown(untilMs: number, nowMs: number): string {
  const seconds = Math.floor((untilMs - nowMs) / 1000);
  if (seconds <= 0) return 'now';
  const parts: [number, string][] = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
}

/** "just now", "5 min ago", "3 h ago", "2 days ago", then the day. */
export function formatAgo(iso: string, nowMs: number): string {
  const passed = nowMs - Date.parse(iso);
  if (passed < 60_000) return 'just now';
  if (passed < 3_600_000) return `${Math.floor(passed / 60_000)} min ago`;
  if (passed < DAY_MS) return `${Math.floor(passed / 3_600_000)} h ago`;
  if (passed < 30 * DAY_MS) return plural(Math.floor(passed / DAY_MS), 'day') + ' ago';
  return formatDay(iso);
}

/** Formats a duration: "840 ms", "2.4 s", "3 min 5 s". */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}

/** Returns the UTC calendar month of a time, such as "2026-11". */
export function monthOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 7);
}

/** Returns the latest months, newest first. */
export function recentMonths(nowMs: number, count: number): string[] {
  const now = new Date(nowMs);
  return Array.from({ length: count }, (_, back) =>
    monthOf(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)),
  );
}

function two(number: number): string {
  return String(number).padStart(2, '0');
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Time between two backups. */
export const BACKUP_PERIOD_MS = 24 * 3_600_000;

/** A folder of a backup: its name, and whether its manifest exists. */
export interface StoredBackup {
  readonly name: string;
  readonly isComplete: boolean;
}

/** The name of a backup that begins at `now` (epoch milliseconds). Names sort by time. */
export function backupName(now: number): string {
  return new Date(now).toISOString().replaceAll(':', '-');
}

/**
 * Returns the milliseconds until the next backup: 0 without a complete backup or a day after the
 * newest complete one.
 */
export function waitForBackup(stored: readonly StoredBackup[], now: number): number {
  const newest = Math.max(...completeOnes(stored).map(({ startedAt }) => startedAt), 0);
  // A clock that was set back makes no backup late by more than a day.
  return Math.min(Math.max(newest + BACKUP_PERIOD_MS - now, 0), BACKUP_PERIOD_MS);
}

/**
 * Returns the folders to remove after a complete backup: unfinished backups, and complete ones
 * older than the newest `kept`. Other folders stay.
 */
export function outdatedBackups(stored: readonly StoredBackup[], kept: number): string[] {
  const complete = completeOnes(stored).sort((one, other) => other.startedAt - one.startedAt);
  const unfinished = stored.filter(({ name, isComplete }) => !isComplete && startOf(name) !== null);
  return [...unfinished, ...complete.slice(kept)].map(({ name }) => name);
}

function completeOnes(stored: readonly StoredBackup[]): { readonly name: string; readonly startedAt: number }[] {
  return stored.flatMap(({ name, isComplete }) => {
    const startedAt = startOf(name);
    return isComplete && startedAt !== null ? [{ name, startedAt }] : [];
  });
}

/** Returns when a backup with this name began; null for a folder of another origin. */
function startOf(name: string): number | null {
  const [, day, hour, minute, second] = /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d\.\d{3}Z)$/.exec(name) ?? [];
  const at = Date.parse(`${day}T${hour}:${minute}:${second}`);
  return Number.isNaN(at) ? null : at;
}

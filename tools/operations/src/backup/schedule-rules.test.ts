import { expect, test } from '@jest/globals';
import { BACKUP_PERIOD_MS, backupName, outdatedBackups, waitForBackup } from './schedule-rules.js';

const NOW = Date.parse('2026-11-29T21:05:00.250Z');
const HOUR_MS = 3_600_000;
const complete = (hoursAgo: number) => ({ name: backupName(NOW - hoursAgo * HOUR_MS), isComplete: true });
const unfinished = (hoursAgo: number) => ({ ...complete(hoursAgo), isComplete: false });
const FOREIGN = { name: 'monthly', isComplete: true };

test('the name of a backup is its start and no special character of a shell or Windows', () => {
  expect(backupName(NOW)).toBe('2026-11-29T21-05-00.250Z');
});

test.each([
  ['is none', [], 0],
  ['is unfinished', [unfinished(1)], 0],
  ['has another name', [FOREIGN], 0],
  ['is an hour old', [complete(30), complete(1), unfinished(0)], 23 * HOUR_MS],
  ['is a day old', [complete(24)], 0],
  ['is older', [complete(100)], 0],
  ['has a time in the future', [complete(-100)], BACKUP_PERIOD_MS],
])('waitForBackup(): the newest backup %s', (_, stored, expected) => {
  expect(waitForBackup(stored, NOW)).toBe(expected);
});

test('outdatedBackups() returns only unfinished and the oldest complete backups', () => {
  const stored = [complete(72), FOREIGN, unfinished(50), complete(24), complete(48), complete(0)];
  expect(outdatedBackups(stored, 2)).toEqual([unfinished(50), complete(48), complete(72)].map(({ name }) => name));
  expect(outdatedBackups(stored, 4)).toEqual([unfinished(50).name]);
});

import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const DECISIONS = fileURLToPath(new URL('../../../docs/decisions/', import.meta.url));

test('the index of decisions lists each record with its title and date in order', () => {
  const rows = readFileSync(`${DECISIONS}README.md`, 'utf8').matchAll(/^\| \[(\d{4})\]\((.+?)\) (.+?) +\| (\S+) +\|/gm);
  const listed = [...rows].map(([, number, file, title, date]) => [file, `# ${number} ${title}`, date]);
  const records = readdirSync(DECISIONS).filter((file) => file !== 'README.md');
  const kept = records.sort().map((file) => {
    const [heading, , status = ''] = readFileSync(`${DECISIONS}${file}`, 'utf8').split('\n');
    return [file, heading, status.split(' ')[0]];
  });
  expect(listed).toEqual(kept);
});

import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { borrowServer, LENDER_VARIABLE } from './borrow-server.js';
import { lendServers } from '../test/lend-servers.mjs';
import { duringTests } from './during-tests.js';

const BORROWER = fileURLToPath(new URL('../test/borrow-places.mjs', import.meta.url));
const PLACES = 40;
const HALF = PLACES / 2;

const lender = duringTests(lendServers);

/** Starts a process that holds places until its input ends. */
async function startBorrower(count: number): Promise<{ child: ChildProcessWithoutNullStreams; places: number[] }> {
  const env = { ...process.env, [LENDER_VARIABLE]: lender.path };
  const child = spawn(process.execPath, [BORROWER, String(count)], { env });
  child.stderr.pipe(process.stderr);
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  return { child, places: JSON.parse(line) as number[] };
}

function borrow() {
  process.env[LENDER_VARIABLE] = lender.path;
  return borrowServer({ server: 'redis', options: {}, places: PLACES });
}

test('borrowServer() lends a returned place again, but not that of a killed process', async () => {
  const [one, other] = await Promise.all([startBorrower(HALF), startBorrower(HALF)]);
  expect(new Set([...one.places, ...other.places]).size).toBe(PLACES);
  await expect(borrow()).rejects.toThrow('all 40 places on the shared redis server are in use; 0 are held by suites');

  other.child.kill('SIGKILL');
  await once(other.child, 'exit');
  one.child.stdin.end();
  await once(one.child, 'exit');
  const again = await Promise.all(one.places.map(borrow));
  expect(new Set(again.map(({ place }) => place))).toEqual(new Set(one.places));
  await expect(borrow()).rejects.toThrow('are in use; 20 are held by suites that ended without returning them');

  await again[0]?.stop();
  const { place, stop } = await borrow();
  expect(place).toBe(again[0]?.place);
  await Promise.all([stop(), ...again.slice(1).map((each) => each.stop())]);
}, 60_000);

test('a shared server throws on stop(), restart() and pid', async () => {
  const { server, stop } = await borrow();
  await expect(server.stop()).rejects.toThrow('start your own server with own: true');
  await expect(server.restart?.()).rejects.toThrow('start your own server with own: true');
  expect(() => server.pid).toThrow('start your own server with own: true');
  await stop();
});

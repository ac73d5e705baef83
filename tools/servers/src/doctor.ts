// `npm run doctor`: prints where the gateway would get each server, and what to do about missing
// ones. Exit 0: the gateway can start.
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { inspectServers } from './inspect-servers.js';
import { defaultCacheDirectory } from './resolve-server.js';

const GIBIBYTE = 1024 ** 3;
/** Servers, their first data and the fetched programs need less than this. */
const FREE_MIN_BYTES = 2 * GIBIBYTE;

const checkout = dirname(defaultCacheDirectory());
const [servers, disk] = await Promise.all([inspectServers(), statfs(checkout)]);
const freeBytes = disk.bavail * disk.bsize;
const rows = [
  ['', 'version', 'source'],
  ...servers.map((one) => [one.name, one.version, one.resolver ? `${one.resolver}: ${one.source}` : 'not found']),
  ['node', process.version.slice(1), process.execPath],
  ['npm', /^npm\/(\S+)/.exec(process.env['npm_config_user_agent'] ?? '')?.[1] ?? 'unknown', ''],
  ['disk', `${(freeBytes / GIBIBYTE).toFixed(1)} GiB free`, checkout],
];
const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
for (const row of rows) {
  const cells = row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
  console.log(cells.join('  ').trimEnd());
}
for (const { problem } of servers) if (problem !== undefined) console.log(`\n${problem}`);
if (freeBytes < FREE_MIN_BYTES) console.log(`\nless than ${FREE_MIN_BYTES / GIBIBYTE} GiB of disk space is free`);
const isReady = servers.every(({ problem }) => problem === undefined) && freeBytes >= FREE_MIN_BYTES;
process.exitCode = isReady ? 0 : 1;

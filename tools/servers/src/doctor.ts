import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Inspection, inspectServers } from './inspect-servers.js';
import { defaultCacheDirectory } from './resolve-server.js';
import { runCommand } from './run-command.js';

const NPM_TIMEOUT_MS = 15_000;
/** Servers, their first data and the fetched programs need less than this. */
const FREE_MIN_BYTES = 2 * 1024 ** 3;

/**
 * Prints where the gateway would get each server, and what to do about missing ones. Returns 0 if
 * the gateway can start.
 */
export async function doctor(): Promise<number> {
  const checkout = dirname(defaultCacheDirectory());
  const [servers, npm, disk] = await Promise.all([inspectServers({}), npmVersion(), statfs(checkout)]);
  const freeBytes = disk.bavail * disk.bsize;
  const rows = [
    ['', 'version', 'source'],
    ...servers.map((server) => [
      server.name,
      server.version,
      server.resolver ? `${server.resolver}: ${server.source}` : 'not found',
    ]),
    ['node', process.version.slice(1), process.execPath],
    ['npm', npm, ''],
    ['disk', `${(freeBytes / 1024 ** 3).toFixed(1)} GiB free`, checkout],
  ];
  const lines = [...table(rows), ...servers.flatMap(advice)];
  if (freeBytes < FREE_MIN_BYTES) lines.push('', `less than ${FREE_MIN_BYTES / 1024 ** 3} GiB of disk space is free`);
  process.stdout.write(`${lines.join('\n')}\n`);
  return servers.every((server) => server.resolver !== null) && freeBytes >= FREE_MIN_BYTES ? 0 : 1;
}

function advice({ name, problem, remedies = [] }: Inspection): string[] {
  if (problem === undefined) return [];
  return [
    '',
    `${name} is missing. ${problem}`,
    'Do one of these:',
    ...remedies.map((text, index) => `  ${index + 1}. ${text}`),
  ];
}

function table(rows: string[][]): string[] {
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

async function npmVersion(): Promise<string> {
  const agent = /^npm\/(\S+)/.exec(process.env['npm_config_user_agent'] ?? '')?.[1];
  if (agent !== undefined) return agent;
  const result = await runCommand('npm', ['--version'], { timeoutMs: NPM_TIMEOUT_MS });
  return result.ok ? result.stdout.trim() : 'not found';
}

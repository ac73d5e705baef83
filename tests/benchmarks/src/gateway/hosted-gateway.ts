import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { type BenchContext, DIRECTORIES, messageOf } from '../context.js';
import { ChildProgram } from '../machine/programs.js';
import { GATEWAY_MODELS } from './prepare.js';
import type { GatewayPeer } from './start-gateway.js';

const run = promisify(execFile);
const COMMIT_DIGITS = 12;
const OUTPUT_BYTES_MAX = 64 * 1_024 * 1_024;
const LINES_SHOWN = 20;

/**
 * Builds a commit of this repository once, in a separate work tree. Later runs use the existing
 * build. An incomplete build is started again.
 * @param name a commit as git accepts it: a hash, a branch, `HEAD~3`
 * @returns the first digits of its hash, and its compiled checkout
 * @throws Error if the commit does not exist, or with the last output lines if the build fails
 */
export async function buildCommit(
  name: string,
  { log, signal }: BenchContext,
): Promise<{ readonly commit: string; readonly directory: string }> {
  const cwd = DIRECTORIES.checkout;
  const full = await run('git', ['rev-parse', '--verify', '--end-of-options', `${name}^{commit}`], { cwd }).catch(
    () => {
      throw new Error(`--against: this repository has no commit "${name}"`);
    },
  );
  const id = full.stdout.trim();
  const commit = id.slice(0, COMMIT_DIGITS);
  const directory = `${DIRECTORIES.commits}/${commit}`;
  const mark = `${directory}.built`;
  if (existsSync(mark) && existsSync(directory)) return { commit, directory };
  log(`building ${commit}, once: this takes minutes`);
  await rm(mark, { force: true });
  await rm(directory, { recursive: true, force: true });
  await mkdir(DIRECTORIES.commits, { recursive: true });
  const steps = [
    { cwd, line: ['git', 'worktree', 'prune'] },
    { cwd, line: ['git', 'worktree', 'add', '--force', '--detach', directory, id] },
    { cwd: directory, line: ['npm', 'ci', '--no-audit', '--no-fund'] },
    { cwd: directory, line: ['npm', 'run', 'build'] },
  ];
  for (const { line, cwd: place } of steps) {
    const options = { cwd: place, env: buildEnvironment(), signal, maxBuffer: OUTPUT_BYTES_MAX };
    await run(line[0] ?? '', line.slice(1), options).catch((error: unknown) => {
      signal.throwIfAborted();
      throw new Error(`${commit} cannot be built: "${line.join(' ')}" failed:\n${lastLines(error)}`);
    });
  }
  // Shares the downloaded servers of this checkout, so that both run the same programs and nothing
  // is downloaded during a run.
  await mkdir(DIRECTORIES.debian, { recursive: true });
  await symlink(DIRECTORIES.debian, `${directory}/.infra`);
  await writeFile(mark, '');
  return { commit, directory };
}

/**
 * Returns the environment without npm's script variables, which name this checkout, and without
 * NODE_ENV: the build needs development packages.
 */
function buildEnvironment(): NodeJS.ProcessEnv {
  const isOther = (name: string) => !/^(?:NODE_ENV|npm_config_local_prefix|npm_(?:package|lifecycle)_.*)$/.test(name);
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => isOther(name)));
}

/** Returns the last output lines. Compilers write errors to standard output, npm to stderr. */
function lastLines(error: unknown): string {
  const { stdout = '', stderr = '' } = error as Partial<Record<'stdout' | 'stderr', string>>;
  const lines = `${stdout}\n${stderr}`.split('\n').filter((line) => line.trim() !== '');
  return lines.length === 0 ? messageOf(error) : lines.slice(-LINES_SHOWN).join('\n');
}

export type HostCommand =
  | {
      readonly kind: 'start';
      /** The compiled checkout. */
      readonly directory: string;
      readonly providerUrl: string;
      readonly state: string;
      readonly accounts: number;
      /** The NATS program to use, or null for the one that the local start finds. */
      readonly nats: string | null;
    }
  | { readonly kind: 'settle'; readonly answered: number }
  | { readonly kind: 'audit' };

/** A gateway's data without its functions, because it is sent between processes. */
export type GatewayFacts = Omit<GatewayPeer, 'settle' | 'audit'>;

/**
 * Starts a gateway in a separate process: of another commit, or with another Node program. The code
 * of its checkout starts servers and services, prepares accounts and reads its books.
 * @throws Error if that commit has no bench or its gateway does not start
 */
export async function startHostedGateway(
  { id, title, execPath }: { readonly id: string; readonly title: string; readonly execPath?: string },
  start: Omit<HostCommand & { kind: 'start' }, 'kind'>,
  { ending }: BenchContext,
): Promise<GatewayPeer> {
  const host = new ChildProgram<HostCommand>(new URL('host-main.js', import.meta.url), title, execPath);
  ending.add(title, () => host.leave());
  const facts = await host.ask<GatewayFacts>({ kind: 'start', ...start }).catch((error: unknown) => {
    throw new Error(`${title} does not start: ${messageOf(error)}`);
  });
  let failedTotal = 0;
  return {
    ...facts,
    id,
    title,
    models: { ...facts.models, long: GATEWAY_MODELS.long },
    starter: host.pid,
    settle(answered, failed = 0) {
      failedTotal += failed;
      return host.ask({ kind: 'settle', answered });
    },
    // The bench of another commit may not support failed calls, which may leave records.
    audit: () => (failedTotal > 0 ? Promise.resolve() : host.ask({ kind: 'audit' })),
  };
}

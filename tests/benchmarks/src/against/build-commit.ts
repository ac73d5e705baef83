import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { type BenchContext, DIRECTORIES } from '../bench-context.js';

const run = promisify(execFile);

/** A commit of this repository, installed and compiled in a separate work tree. */
export interface BuiltCommit {
  /** The first twelve hexadecimal digits of its hash. */
  readonly commit: string;
  readonly directory: string;
}

const COMMIT_DIGITS = 12;
const STEPS = [
  ['git', 'worktree', 'prune'],
  ['git', 'worktree', 'add', '--force', '--detach'],
  ['npm', 'ci', '--no-audit', '--no-fund'],
  ['npm', 'run', 'build'],
] as const;
const OUTPUT_BYTES_MAX = 64 * 1_024 * 1_024;
const LINES_SHOWN = 20;

/**
 * Builds a commit once. Later runs use the existing build. An incomplete build is started again.
 * @param name a commit as git accepts it: a hash, a branch, `HEAD~3`
 * @throws Error if the commit does not exist, or with the last output lines if the build fails
 */
export async function buildCommit(name: string, { log, signal }: BenchContext): Promise<BuiltCommit> {
  const full = await run('git', ['rev-parse', '--verify', '--end-of-options', `${name}^{commit}`], {
    cwd: DIRECTORIES.checkout,
  }).catch(() => {
    throw new Error(`--against: this repository has no commit "${name}"`);
  });
  const id = full.stdout.trim();
  const commit = id.slice(0, COMMIT_DIGITS);
  const directory = `${DIRECTORIES.commits}/${commit}`;
  const mark = `${directory}.built`;
  if (existsSync(mark) && existsSync(directory)) return { commit, directory };
  log(`building ${commit}, once: this takes minutes`);
  await rm(mark, { force: true });
  await rm(directory, { recursive: true, force: true });
  await mkdir(DIRECTORIES.commits, { recursive: true });
  for (const [command, ...args] of STEPS) {
    const options = { env: ownEnvironment(), signal, maxBuffer: OUTPUT_BYTES_MAX };
    const isGit = command === 'git';
    const all = args[1] === 'add' ? [...args, directory, id] : args;
    await run(command, all, { ...options, cwd: isGit ? DIRECTORIES.checkout : directory }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw new Error(`${commit} cannot be built: "${command} ${args.join(' ')}" failed:\n${lastLines(error)}`);
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
function ownEnvironment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => {
    return name !== 'NODE_ENV' && name !== 'npm_config_local_prefix' && !/^npm_(package|lifecycle)_/.test(name);
  });
  return Object.fromEntries(own);
}

/** Returns the last output lines. Compilers write errors to standard output, npm to stderr. */
function lastLines(error: unknown): string {
  const { stdout = '', stderr = '', message = '' } = error as Partial<Record<'stdout' | 'stderr' | 'message', string>>;
  const lines = `${stdout}\n${stderr}`.split('\n').filter((line) => line.trim() !== '');
  return lines.length === 0 ? message : lines.slice(-LINES_SHOWN).join('\n');
}

import { execFile } from 'node:child_process';
import { existsSync, readlinkSync, writeFileSync } from 'node:fs';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { freePort, startServers } from '@gateway/servers';
import { type BenchContext, DIRECTORIES, messageOf } from '../context.js';
import { type Peer, GATEWAY_MODELS } from '../edge/scenarios.js';
import { ChildProgram } from '../machine/programs.js';
import { prepareGateway } from './prepare.js';
import type { HostedGateway } from './start-gateway.js';

const run = promisify(execFile);
const COMMIT_DIGITS = 12;
const OUTPUT_BYTES_MAX = 64 * 1_024 * 1_024;
const ERROR_CHARACTERS_SHOWN = 2_000;
const MODE_EXECUTABLE = 0o755;

/**
 * Builds a commit of this repository once, in a separate work tree. Later runs use the existing
 * build. An incomplete build is started again.
 * @param name a commit as git accepts it: a hash, a branch, `HEAD~3`
 * @returns the first digits of its hash, and its compiled checkout
 */
export async function buildCommit(
  name: string,
  { log, signal }: BenchContext,
): Promise<{ readonly commit: string; readonly directory: string }> {
  const cwd = DIRECTORIES.checkout;
  // npm's script variables name this checkout, and the build needs development packages.
  const isOther = (name: string) => !/^(?:NODE_ENV|npm_config_local_prefix|npm_(?:package|lifecycle)_.*)$/.test(name);
  const env = Object.fromEntries(Object.entries(process.env).filter(([variable]) => isOther(variable)));
  const step = async (place: string, command: string, ...args: string[]): Promise<string> => {
    const options = { cwd: place, env, signal, maxBuffer: OUTPUT_BYTES_MAX };
    return (await run(command, args, options)).stdout.trim();
  };
  const id = await step(cwd, 'git', 'rev-parse', '--verify', '--end-of-options', `${name}^{commit}`);
  const commit = id.slice(0, COMMIT_DIGITS);
  const directory = `${DIRECTORIES.commits}/${commit}`;
  const mark = `${directory}.built`;
  if (existsSync(mark) && existsSync(directory)) return { commit, directory };
  log(`building ${commit}, once: this takes minutes`);
  for (const path of [mark, directory]) await rm(path, { force: true, recursive: true });
  try {
    await step(cwd, 'git', 'worktree', 'prune');
    await step(cwd, 'git', 'worktree', 'add', '--force', '--detach', directory, id);
    await step(directory, 'npm', 'ci', '--no-audit', '--no-fund');
    await step(directory, 'npm', 'run', 'build');
  } catch (error) {
    const { stdout = '', stderr = messageOf(error) } = error as { stdout?: string; stderr?: string };
    throw new Error(`${commit} cannot be built:\n${`${stdout}\n${stderr}`.slice(-ERROR_CHARACTERS_SHOWN)}`);
  }
  // Shares the downloaded servers of this checkout, so that both run the same programs.
  await mkdir(DIRECTORIES.debian, { recursive: true });
  await symlink(DIRECTORIES.debian, `${directory}/.infra`);
  await writeFile(mark, '');
  return { commit, directory };
}

/**
 * Finds the NATS program that the local start uses. Starts NATS briefly, because the program may
 * have to be downloaded first. Null if NATS does not run as a process of this machine.
 */
export async function findNatsProgram(directory: string): Promise<string | null> {
  const { nats } = await startServers(['nats'], { stateDirectory: `${directory}/nats-found`, durable: false });
  const program = nats.pid === null ? null : readlinkSync(`/proc/${nats.pid}/exe`);
  await nats.stop();
  return program;
}

/** A gateway to start. `gateway` is the ID of this build. */
export interface GatewaySpec {
  readonly id: string;
  readonly title: string;
  /** Variables of all services. */
  readonly env?: Readonly<Record<string, string>>;
  /** A compiled checkout of another commit. */
  readonly directory?: string;
  readonly execPath?: string;
}

export type HostCommand =
  | {
      readonly kind: 'start';
      /** The compiled checkout. */
      readonly directory: string;
      readonly providerUrl: string;
      readonly state: string;
      /** The NATS program to use, or null for the one that the local start finds. */
      readonly nats: string | null;
      readonly env: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'settle'; readonly answered: number; readonly failed: number }
  | { readonly kind: 'audit' };

export type GatewayFacts = Pick<HostedGateway, 'version' | 'port' | 'processes' | 'except'>;

/**
 * Starts a gateway from a separate process: this build, another commit, or with another Node
 * program. The code of its checkout starts servers and services and reads its books. Accounts are
 * created over the operator API, which is the same at every commit.
 */
export async function hostGateway(
  { id, title, execPath, env = {}, directory = DIRECTORIES.checkout }: GatewaySpec,
  started: { readonly providerUrl: string; readonly state: string; readonly accounts: number; nats: string | null },
  { ending, log }: BenchContext,
): Promise<Peer> {
  const { providerUrl, accounts } = started;
  const state = `${started.state}/${id}`;
  await mkdir(state);
  const monitorPort = await freePort();
  const nats = started.nats && `${state}/nats-with-monitor`;
  // The local start opens no monitoring port, which has the counters of NATS.
  if (nats !== null)
    writeFileSync(nats, `#!/bin/sh\nexec '${started.nats}' "$@" -m ${monitorPort}\n`, { mode: MODE_EXECUTABLE });
  const host = new ChildProgram<HostCommand>(new URL('../child-main.js', import.meta.url), title, execPath);
  ending.add(title, () => host.leave());
  const facts = await host.ask<GatewayFacts>({ kind: 'start', directory, providerUrl, state, nats, env });
  const secrets = await prepareGateway(facts.processes, providerUrl, accounts);
  log(`${title} runs with ${accounts} accounts`);
  let failedTotal = 0;
  return {
    ...facts,
    id,
    title,
    headers: [],
    models: GATEWAY_MODELS,
    secrets,
    settle(answered, failed) {
      failedTotal += failed;
      return host.ask({ kind: 'settle', answered, failed });
    },
    gateway: {
      starter: host.pid,
      monitorUrl: nats && `http://127.0.0.1:${monitorPort}`,
      // The starter of another commit may not support failed calls, which may leave records.
      audit: () => (failedTotal > 0 ? Promise.resolve() : host.ask({ kind: 'audit' })),
    },
  };
}

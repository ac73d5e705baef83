import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { bareEnvironment, spawnServer } from '@gateway/servers';
import { isPortFree } from '@gateway/service-kit/free-port';
import { until } from '@gateway/testkit';
import { type Cleanup, messageOf } from '../context.js';

export interface ProgramOptions {
  readonly title: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Record<string, string>;
  readonly logFile: string;
  readonly port: number;
}

const READY_MS = 30_000;
const LEAVE_MS_MAX = 30_000;

/**
 * Starts a peer or the provider. It ends with this process, even after kill -9 if the system has
 * setpriv. Resolves with its ID when the port accepts connections.
 * @throws Error with the last log lines if it does not listen in time
 */
export async function startProgram(
  { title, command, args, env, logFile, port }: ProgramOptions,
  ending: Cleanup,
  readyMs = READY_MS,
): Promise<number> {
  const program = spawnServer({ command, args, env: { ...bareEnvironment(), ...env }, cwd: '/', logFile });
  ending.add(title, () => {
    program.endGroup();
    return program.exited;
  });
  const listens = async () => program.hasExited() || !(await isPortFree(port));
  await until(`${title} listens`, listens, readyMs).catch(() => undefined);
  if (program.hasExited() || (await isPortFree(port))) throw new Error(`${title} did not start:\n${program.tail()}`);
  return program.pid;
}

type Reply = { readonly result: unknown } | { readonly fault: string };

/** Runs a module in a separate process that Ctrl-C does not reach, one request at a time. */
export class ChildProgram<Command extends object> {
  readonly #child;
  readonly #exited: Promise<unknown>;

  constructor(
    module: URL,
    private readonly title: string,
    execPath = process.execPath,
  ) {
    this.#child = fork(fileURLToPath(module), { detached: true, execPath });
    this.#exited = once(this.#child, 'exit').then(() => []);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** @throws Error with the child's reason if it fails, or if the child has ended */
  async ask<R>(command: Command): Promise<R> {
    const replied = this.#child.connected ? once(this.#child, 'message') : [];
    if (this.#child.connected) this.#child.send(command);
    const [reply] = (await Promise.race([replied, this.#exited])) as [Reply?];
    if (reply === undefined) throw new Error(`${this.title} has ended`);
    if ('fault' in reply) throw new Error(reply.fault);
    return reply.result as R;
  }

  /** Disconnects, so that the child can clean up. Kills it after 30 s. */
  async leave(): Promise<void> {
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), LEAVE_MS_MAX);
    if (this.#child.connected) this.#child.disconnect();
    await this.#exited;
    clearTimeout(timer);
  }
}

/** Handles commands in the child. An error of `answer` is sent as a fault. */
export function answerParent<Command>(answer: (command: Command) => Promise<unknown>): void {
  process.on('message', (command: Command) => {
    answer(command).then(
      (result) => process.send?.({ result }),
      (error: unknown) => process.send?.({ fault: messageOf(error) }),
    );
  });
}

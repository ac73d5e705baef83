import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { LoadJob, LoadResult } from './load-job.js';

export type LoadCommand =
  | { readonly kind: 'keys'; readonly secrets: readonly string[]; readonly perMinuteMax: number }
  | { readonly kind: 'job'; readonly job: LoadJob };
export type LoadReply = { readonly result: LoadResult } | { readonly fault: string };

/** The load in a process of its own, so that its CPU is not the measuring's and can be put on a core. */
export interface LoadProcess {
  readonly pid: number;
  useKeys(secrets: readonly string[], perMinuteMax: number): void;
  /** One job at a time. Rejects when the load has ended. */
  run(job: LoadJob): Promise<LoadResult>;
  stop(): Promise<void>;
}

export function startLoad(): LoadProcess {
  const child = fork(fileURLToPath(new URL('load-main.js', import.meta.url)), { detached: true });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const send = (command: LoadCommand): boolean => child.send(command);
  return {
    pid: child.pid ?? 0,
    useKeys: (secrets, perMinuteMax) => void send({ kind: 'keys', secrets, perMinuteMax }),
    run: (job) =>
      new Promise((resolve, reject) => {
        const onExit = (): void => {
          child.off('message', onReply);
          reject(new Error('the load has ended'));
        };
        const onReply = (reply: LoadReply): void => {
          child.off('exit', onExit);
          if ('result' in reply) resolve(reply.result);
          else reject(new Error(reply.fault));
        };
        if (!child.connected) return onExit();
        child.once('message', onReply);
        child.once('exit', onExit);
        send({ kind: 'job', job });
      }),
    async stop() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await exited;
    },
  };
}

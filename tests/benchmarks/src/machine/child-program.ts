import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** A message from a child program: a line for the log, or the response to the last request. */
export type ChildReply<R> = { readonly log: string } | { readonly result: R } | { readonly fault: string };

const LEAVE_MS_MAX = 30_000;

/** Runs a module in a separate process that Ctrl-C does not reach, one request at a time. */
export class ChildProgram<Command extends object> {
  readonly #child;
  readonly #exited: Promise<void>;

  constructor(
    module: URL,
    private readonly name: string,
    log: (line: string) => void = () => undefined,
  ) {
    this.#child = fork(fileURLToPath(module), { detached: true });
    this.#exited = new Promise((resolve) => this.#child.once('exit', () => resolve()));
    this.#child.on('message', (reply: ChildReply<unknown>) => {
      if ('log' in reply) log(reply.log);
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Sends a command without a response. */
  tell(command: Command): void {
    this.#child.send(command);
  }

  /** @throws Error with the child's reason if it fails, or if the child has ended */
  ask<R>(command: Command): Promise<R> {
    return new Promise((resolve, reject) => {
      const done = (): void => {
        this.#child.off('message', onReply);
        this.#child.off('exit', onExit);
      };
      const onExit = (): void => {
        done();
        reject(new Error(`${this.name} has ended`));
      };
      const onReply = (reply: ChildReply<R>): void => {
        if ('log' in reply) return;
        done();
        if ('result' in reply) resolve(reply.result);
        else reject(new Error(reply.fault));
      };
      if (!this.#child.connected) return onExit();
      this.#child.on('message', onReply);
      this.#child.once('exit', onExit);
      this.tell(command);
    });
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGKILL');
    await this.#exited;
  }

  /** Disconnects, so that the child can clean up. Kills it after 30 s. */
  async leave(): Promise<void> {
    const timer = setTimeout(() => void this.kill(), LEAVE_MS_MAX);
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
      (error: unknown) => process.send?.({ fault: error instanceof Error ? error.message : String(error) }),
    );
  });
}

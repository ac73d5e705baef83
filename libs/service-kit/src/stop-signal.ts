export interface StopSignal {
  /** Whether a signal has come. */
  readonly received: boolean;
  readonly first: Promise<NodeJS.Signals>;
  readonly aborted: AbortSignal;
}

/** As a shell reports a process that SIGINT ended. */
const EXIT_INTERRUPTED = 130;

/**
 * Waits for SIGTERM or SIGINT. A second SIGINT (a person's Ctrl-C) ends the process at once; a
 * second SIGTERM does nothing, as supervisors may send it to the group and to the process.
 */
export function awaitStopSignal(): StopSignal {
  const controller = new AbortController();
  const first = new Promise<NodeJS.Signals>((resolve) => {
    const receive = (name: NodeJS.Signals) => {
      if (controller.signal.aborted && name === 'SIGINT') process.exit(EXIT_INTERRUPTED);
      resolve(name);
      controller.abort(new Error(`stopped by ${name}`));
    };
    process.on('SIGTERM', receive);
    process.on('SIGINT', receive);
  });
  return {
    get received() {
      return controller.signal.aborted;
    },
    first,
    aborted: controller.signal,
  };
}

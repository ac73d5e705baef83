export interface StopSignal {
  /** Reports whether a signal was received. */
  readonly received: boolean;
  readonly first: Promise<NodeJS.Signals>;
  readonly aborted: AbortSignal;
}

/** Exit code that a shell reports for a process ended by SIGINT. */
const EXIT_INTERRUPTED = 130;

/**
 * Waits for SIGTERM or SIGINT. A second SIGINT (Ctrl-C) ends the process at once. A second SIGTERM
 * has no effect, because supervisors may send it to the group and to the process.
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

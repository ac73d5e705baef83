/** One ledger epoch of a process, or a server. After a kill nothing of it happens any more. */
export class Host {
  isAlive = true;
  /** What happens to it waits until then: it was stopped, as by SIGSTOP. */
  hungUntil = 0;
  /** The network loses everything from and to it until then. */
  cutUntil = 0;

  /**
   * @param name of the place, which outlives its processes
   * @param skewMs how far its wall clock is ahead
   */
  constructor(
    readonly name: string,
    readonly skewMs = 0,
  ) {}
}

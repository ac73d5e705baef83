/** One run of a process, or a server. After a kill, its events no longer happen. */
export class Host {
  isAlive = true;
  /** Time until which its events are delayed, as after SIGSTOP. */
  hungUntil = 0;
  /** Time until which the network drops all messages from and to it. */
  cutUntil = 0;

  /**
   * @param name name of the place, which outlives its processes
   * @param skewMs how far its wall clock is ahead
   */
  constructor(
    readonly name: string,
    readonly skewMs = 0,
  ) {}
}

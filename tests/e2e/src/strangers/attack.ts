/**
 * Facts that an attacker may know: ports of 127.0.0.1, and everything that a new customer can see.
 */
export interface AttackTarget {
  readonly edgePort: number;
  readonly pagesPort: number;
  readonly operatorPort: number;
  /** Path of the largest file of the pages. */
  readonly largeFile: string;
  /** A key of the attacker's account, and a model that it may use. */
  readonly secret: string;
  readonly modelId: string;
}

export interface AttackBounds {
  /** Duration of the attack. */
  readonly seconds: number;
  /** Limit of concurrent connections for every kind. */
  readonly connectionsMax: number;
}

/** Results of an attack. */
export interface AttackFigures {
  /** Number of connections that were made. */
  readonly connections: number;
  /** Most concurrent connections. */
  readonly connectionsMost: number;
  /** Number of responses by status. */
  readonly answers: Readonly<Record<string, number>>;
}

export interface RunningAttack {
  /** Resolves when the attack is over or stopped. All its connections are closed then. */
  readonly ended: Promise<AttackFigures>;
  stop(): void;
}

export type StartAttack = (target: AttackTarget, bounds: AttackBounds) => RunningAttack;

/** What an attack may know: ports of 127.0.0.1, and what anybody can get who signs up. */
export interface AttackTarget {
  readonly edgePort: number;
  readonly pagesPort: number;
  readonly operatorPort: number;
  /** The largest file of the pages, as a path. */
  readonly largeFile: string;
  /** A key of the attacker's own account, and a model that it may call. */
  readonly secret: string;
  readonly modelId: string;
}

export interface AttackBounds {
  /** It ends by itself after so many seconds. */
  readonly seconds: number;
  /** Most connections at one time, whatever the kind asks for. */
  readonly connectionsMax: number;
}

/** What an attack did. */
export interface AttackFigures {
  /** Connections that were made. */
  readonly connections: number;
  /** Most of them at one time. */
  readonly connectionsMost: number;
  /**
   * Requests that were answered, by status; of attacks that hold connections: what those were told.
   */
  readonly answers: Readonly<Record<string, number>>;
}

export interface RunningAttack {
  /** When its time is over or it was stopped; no connection of it is left. */
  readonly ended: Promise<AttackFigures>;
  stop(): void;
}

export type StartAttack = (target: AttackTarget, bounds: AttackBounds) => RunningAttack;

import type { Addresses } from './addresses.js';
import type { InnerPort } from './ports.js';
import type { LocalService } from './processes.js';

export interface SystemOptions {
  readonly stateDirectory: string;
  /** Port of the first edge; 0: any. Further replicas take free ones. */
  readonly port: number;
  /** Port of the first operator API; absent or 0: any. Further replicas take free ones. */
  readonly operatorPort?: number;
  /** Port of the first dashboard; absent or 0: any. Further replicas take free ones. */
  readonly dashboardPort?: number;
  readonly replicas: Readonly<Record<LocalService, number>>;
  /** PostgreSQL with two standbys, three NATS servers, Redis with a replica and Sentinels. */
  readonly ha?: boolean;
  /** Ports of the servers and of the simulator's listeners; absent or 0: any. */
  readonly ports?: Partial<Record<InnerPort, number>>;
  /** Added to the environment of every service; read when the servers are up. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Replaces the addresses of the servers that the services get, with those of a proxy in tests.
   */
  readonly through?: (own: Addresses) => Promise<Addresses>;
  /**
   * With `ha`, in tests: the port of a proxy before this port of a server, on this way between
   * servers: `nats-1 to nats-3`, `standbys to postgres-1`; to Redis for all: `all to redis-1`.
   */
  readonly between?: (way: string, port: number) => Promise<number>;
  /** It is false in tests: a crash of the machine may lose data. */
  readonly durable: boolean;
  /** A line for the reader: what was done, with its seconds. */
  readonly log: (line: string) => void;
  /** Aborts the start, which rejects when all that it started has ended. Later it has no effect. */
  readonly signal?: AbortSignal;
}

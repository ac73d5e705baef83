import type { Addresses } from './addresses.js';
import type { InnerPort } from './ports.js';
import type { LocalService } from './processes.js';

/** What is started, and where. */
export interface SystemOptions {
  readonly stateDirectory: string;
  /** Port of the first edge; 0: any. Further replicas take free ones. */
  readonly port: number;
  /** Port of the first operator API; absent or 0: any. Further replicas take free ones. */
  readonly operatorPort?: number;
  /** Port of the first dashboard; absent or 0: any. Further replicas take free ones. */
  readonly dashboardPort?: number;
  readonly replicas: Readonly<Record<LocalService, number>>;
  /** Ports of the servers and of the simulator's listeners; absent or 0: any. */
  readonly ports?: Partial<Record<InnerPort, number>>;
  /** Added to the environment of every service; read when the servers are up. */
  readonly env?: Readonly<Record<string, string>>;
  /** Gives the addresses of the servers that the services are told instead of their own: a proxy's, for tests. */
  readonly through?: (own: Addresses) => Promise<Addresses>;
  /** False for tests: a crash of the machine may lose data. */
  readonly durable: boolean;
  /** A line for the reader: what was done, with its seconds. */
  readonly log: (line: string) => void;
  /** Gives the start up: it rejects as soon as what it has started is ended. Later it has no effect. */
  readonly signal?: AbortSignal;
}

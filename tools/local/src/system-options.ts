import type { RunningServer, ServerName } from '@gateway/servers';
import type { Addresses } from './addresses.js';
import type { PortName } from './ports.js';
import type { LocalService } from './processes.js';

export interface SystemOptions {
  readonly stateDirectory: string;
  /** Processes of each service. Default: one. */
  readonly replicas?: Partial<Record<LocalService, number>>;
  /** PostgreSQL with two standbys, three NATS servers, Redis with a replica and Sentinels. */
  readonly ha?: boolean;
  /** Absent or 0: any. Further replicas use free ports. */
  readonly ports?: Partial<Record<PortName, number>>;
  /** Added to the environment of every service. Read after the servers have started. */
  readonly env?: Readonly<Record<string, string>>;
  /** Replaces the server addresses for the services, for example by those of a proxy in tests. */
  readonly through?: (own: Addresses) => Promise<Addresses>;
  /**
   * With `ha`, in tests: returns the port of a proxy in front of a server's port. `way` names the
   * connection: `nats-1 to nats-3`, `standbys to postgres-1`, or `all to redis-1` for all
   * connections to Redis.
   */
  readonly between?: (way: string, port: number) => Promise<number>;
  /** False in tests: a crash of the machine may lose data. */
  readonly durable: boolean;
  /** Receives progress lines for the user, with durations. */
  readonly log: (line: string) => void;
  /** Aborts the start, which then rejects after all its processes have ended. */
  readonly signal?: AbortSignal;
}

/** Started servers. */
export interface Servers {
  /** With standbys: the current primary of each kind, whose URL and pid change. */
  readonly servers: Readonly<Record<ServerName, RunningServer>>;
  /** All servers by name. With standbys there are several of a kind. */
  readonly members: Readonly<Record<string, RunningServer>>;
  /** The URLs for services. With standbys they name all servers of a kind. */
  readonly urls: Readonly<Record<ServerName, string>>;
}

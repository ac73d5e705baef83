/** The servers that the gateway needs. */
export type ServerName = 'postgres' | 'nats' | 'redis';

/** One way to get a server. `RESOLVERS` has the order in which they are tried. */
export type Resolver = 'url' | 'binary' | 'project' | 'docker';

export const SERVER_NAMES: readonly ServerName[] = ['postgres', 'nats', 'redis'];
export const RESOLVERS: readonly Resolver[] = ['url', 'binary', 'project', 'docker'];

export interface RestartOptions {
  /** SIGKILL instead of an orderly stop. */
  kill?: boolean;
  /** Deletes the server's data before the restart. */
  emptyState?: boolean;
  /** Restarts only if the server has ended and was not stopped or started meanwhile. */
  ifEnded?: boolean;
}

/** A server that is ready. */
export interface RunningServer {
  readonly name: ServerName;
  readonly resolver: Resolver;
  /** Contains credentials: do not log it. */
  readonly url: string;
  readonly version: string;
  /** The current process of the server; null while none runs, or if it was not started here. */
  readonly pid: number | null;
  /** Origin of the server for people (a path or text), without secrets. */
  readonly source: string;
  /** Ends the server, also during a restart. A server given by URL is left alone. */
  stop(): Promise<void>;
  /** Restarts the server on the same port. Only for the resolvers binary and project. */
  restart?(options?: RestartOptions): Promise<void>;
}

export interface PostgresFollows {
  /** URL of the primary on this machine, with a user who may replicate and read everything. */
  readonly url: string;
  /** Name of this standby at the primary. */
  readonly name: string;
}

/** A Sentinel monitors a primary and has a replica promoted if enough Sentinels miss it. */
export interface SentinelOptions {
  /** Name under which clients request the primary. */
  readonly name: string;
  /** Port of the primary at the first start. Later the Sentinel's own state counts. */
  readonly port: number;
  readonly primaryPassword: string;
  /** Number of Sentinels that must miss the primary. */
  readonly quorum: number;
  readonly downAfterMs: number;
}

export interface ServersOptions {
  /** Directory for data, configuration, logs and pid files. Created if it does not exist. */
  stateDirectory: string;
  /** Contains fetched programs. Default: `.infra` in the checkout. */
  cacheDirectory?: string;
  /** Default: `process.env`. */
  env?: NodeJS.ProcessEnv;
  /** 0 or absent: a free port on 127.0.0.1. */
  ports?: Partial<Record<ServerName, number>>;
  nats?: {
    /** Appended to the server's configuration: authorization, accounts. */
    config?: string;
    /** Included in the URL and used for the readiness probe. */
    credentials?: { user: string; password: string };
    /** The server's stable name in its cluster. Absent: a new one at each start. */
    name?: string;
  };
  /** Required unless PostgreSQL is given by URL. */
  postgres?: {
    superuserPassword: string;
    /** Further settings of the server as `name=value`. */
    settings?: readonly string[];
    /** Called before each start. Returns the primary to follow as a standby; null: none. */
    follows?: () => Promise<PostgresFollows | null>;
  };
  redis?: {
    /** The password of the user `default`, who has all permissions. */
    password?: string;
    /** Further users: for each the words of a `user` line of the server's configuration. */
    users?: readonly (readonly string[])[];
    /** Logical databases. Default: 16, as in Redis. */
    databases?: number;
    /** Append-only file, fsync every second. Default: false. */
    persist?: boolean;
    /** Called before each start. Returns the primary's port for a replica, else null. */
    follows?: () => Promise<number | null>;
    /** The port that the server and its Sentinels announce, if a proxy is in front of it. */
    announcePort?: number;
    /** Makes the server a Sentinel, which monitors another one. */
    sentinel?: SentinelOptions;
  };
  /** Default: true. False is for tests: a crash of the machine, but of no server, may lose data. */
  durable?: boolean;
  log?(line: string): void;
  /** Called when a started server ends without a stop or restart. `how`: exit code or signal. */
  onExit?(name: ServerName, how: string): void;
}

const VARIABLE = 'GATEWAY_SERVER_SOURCES';

/**
 * Returns the resolvers that the environment allows. Without the variable all are allowed.
 * @throws Error if the variable names an unknown one
 */
export function allowedResolvers(env: NodeJS.ProcessEnv): Resolver[] {
  const words = env[VARIABLE]?.trim() ? env[VARIABLE].split(',').map((word) => word.trim()) : RESOLVERS;
  const unknown = words.find((word) => !RESOLVERS.some((resolver) => resolver === word));
  if (unknown !== undefined) throw new Error(`${VARIABLE} has "${unknown}"; possible are ${RESOLVERS.join(', ')}`);
  return RESOLVERS.filter((resolver) => words.includes(resolver));
}

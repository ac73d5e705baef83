/** The servers that the gateway stands on. */
export type ServerName = 'postgres' | 'nats' | 'redis';

/** One way to get a server. `RESOLVERS` has the order in which they are tried. */
export type Resolver = 'url' | 'binary' | 'project' | 'docker';

export const SERVER_NAMES: readonly ServerName[] = ['postgres', 'nats', 'redis'];
export const RESOLVERS: readonly Resolver[] = ['url', 'binary', 'project', 'docker'];

export interface RestartOptions {
  /** SIGKILL instead of an orderly stop. */
  kill?: boolean;
  /** Delete the server's data before it starts again. */
  emptyState?: boolean;
  /**
   * Only if it has ended and nobody has stopped it or started it again meanwhile; else nothing is
   * done.
   */
  ifEnded?: boolean;
}

/**
 * A server that has answered. `pid` is the server process itself, changes with each restart, and is
 * null while none runs.
 */
export interface RunningServer {
  readonly name: ServerName;
  readonly resolver: Resolver;
  /** It has credentials: do not log it. */
  readonly url: string;
  readonly version: string;
  readonly pid: number | null;
  /** Path or text that tells a reader where the server came from; without secrets. */
  readonly source: string;
  /**
   * Ends the server if it was started here, also one that is just being restarted; one given by URL
   * is left alone. May be called twice.
   */
  stop(): Promise<void>;
  /**
   * Starts the server again on the same port, on the same data unless `emptyState`; only for the
   * resolvers binary and project.
   */
  restart?(options?: RestartOptions): Promise<void>;
}

export interface PostgresFollows {
  /** The primary's, on this machine, of a user who may replicate and read all. */
  readonly url: string;
  /** By it the primary knows this standby. */
  readonly name: string;
}

/** A Sentinel watches a primary and has a replica promoted when enough Sentinels miss it. */
export interface SentinelOptions {
  /** By which clients ask for the primary. */
  readonly name: string;
  /** The port of the primary at the first start; later the Sentinel knows better. */
  readonly port: number;
  readonly primaryPassword: string;
  /** So many must miss the primary. */
  readonly quorum: number;
  readonly downAfterMs: number;
}

export interface ServersOptions {
  /** Holds data, configuration, logs and pid files of the started servers; made when absent. */
  stateDirectory: string;
  /** Holds fetched programs; default `.infra` in the checkout. */
  cacheDirectory?: string;
  /** Default `process.env`. */
  env?: NodeJS.ProcessEnv;
  /** 0 or absent: a free port on 127.0.0.1. */
  ports?: Partial<Record<ServerName, number>>;
  nats?: {
    /** Appended to the server's configuration: authorization, accounts. */
    config?: string;
    /** Put into the URL and used to see whether the server answers. */
    credentials?: { user: string; password: string };
    /** The server's name in its cluster, which stays; another one at each start when absent. */
    name?: string;
  };
  /** Needed unless PostgreSQL is given by URL. */
  postgres?: {
    superuserPassword: string;
    /** Further settings of the server: `name=value` each. */
    settings?: readonly string[];
    /** Asked before each start: whom this server follows as a standby; null: it is the primary. */
    follows?: () => Promise<PostgresFollows | null>;
  };
  redis?: {
    /** The password of the user `default`, who may do everything. */
    password?: string;
    /** Further users: the words of a `user` line of the server's configuration each. */
    users?: readonly (readonly string[])[];
    /** Append-only file, fsync every second. Default false. */
    persist?: boolean;
    /** Asked before each start: the port of the primary that this replica follows; null: none. */
    follows?: () => Promise<number | null>;
    /** The port that it and its Sentinels tell others, where a proxy stands before its own. */
    announcePort?: number;
    /** It is no store but a Sentinel, which watches one. */
    sentinel?: SentinelOptions;
  };
  /**
   * Default true. False is for tests: a crash of the machine may lose the data, a crash of a server
   * may not.
   */
  durable?: boolean;
  log?(line: string): void;
  /** Called when a started server ends although neither stop nor restart was asked for. */
  onExit?(name: ServerName, code: number | null): void;
}

const VARIABLE = 'GATEWAY_SERVERS_RUNGS';

/**
 * The resolvers that the environment allows, in their order. Without the variable all are allowed.
 * @throws Error when the variable names an unknown one
 */
export function allowedResolvers(env: NodeJS.ProcessEnv): Resolver[] {
  const text = env[VARIABLE]?.trim();
  if (!text) return [...RESOLVERS];
  const words = text.split(',').map((word) => word.trim());
  const unknown = words.find((word) => !RESOLVERS.some((resolver) => resolver === word));
  if (unknown !== undefined) throw new Error(`${VARIABLE} has "${unknown}"; possible are ${RESOLVERS.join(', ')}`);
  return RESOLVERS.filter((resolver) => words.includes(resolver));
}

import { freePort, type RunningServer, type ServerName, type ServersOptions } from '@gateway/servers';
import type { ServerRestarter } from '../children/restart-servers.js';
import type { SystemOptions } from '../system-options.js';

/** All started servers by name. */
export type Members = Record<string, RunningServer>;

/** Starts one server and adds it to the members. */
export type Start = (name: string, kind: ServerName, own: Omit<ServersOptions, 'stateDirectory'>) => Promise<void>;

/** The parts for starting the servers of one kind. */
export interface ClusterParts {
  readonly start: Start;
  readonly members: Members;
  readonly restarter: ServerRestarter;
  readonly between: Between;
}

/** Interval of the search for the current primary of a kind, in milliseconds. */
export const LEADER_LOOK_MS = 300;
/** Poll interval of waits, in milliseconds. */
export const LOOK_MS = 100;

export async function portsFor(names: readonly string[]): Promise<Record<string, number>> {
  const ports: Record<string, number> = {};
  for (const name of names) ports[name] = await freePort();
  return ports;
}

/** Returns the port for a connection between servers: the port itself, or that of a proxy. */
export type Between = NonNullable<SystemOptions['between']>;

/** Returns the ports for reaching these members from `from`. */
export async function portsFrom(
  from: string,
  ports: Readonly<Record<string, number>>,
  between: Between,
): Promise<Record<string, number>> {
  const ways: Record<string, number> = {};
  for (const [name, port] of Object.entries(ports)) ways[name] = await between(`${from} to ${name}`, port);
  return ways;
}

export function aliveOf(members: Members, names: readonly string[]): RunningServer | undefined {
  const all = names.map((name) => members[name]);
  return all.find((server) => server?.pid !== null) ?? all[0];
}

/** Returns a handle for the current primary. Its `stop` ends all servers of the kind. */
export function leaderOf(
  members: Members,
  names: readonly string[],
  leader: () => RunningServer | undefined,
): RunningServer {
  const first = members[names[0] ?? ''];
  if (first === undefined) throw new Error('no server of this kind has started');
  const now = (): RunningServer => leader() ?? first;
  return {
    name: first.name,
    resolver: first.resolver,
    version: first.version,
    source: first.source,
    get url() {
      return now().url;
    },
    get pid() {
      return now().pid;
    },
    restart: (how) => now().restart?.(how) ?? Promise.resolve(),
    async stop() {
      await Promise.all(names.flatMap((name) => members[name]?.stop() ?? []));
    },
  };
}

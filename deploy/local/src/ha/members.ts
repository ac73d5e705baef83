import { freePort, type RunningServer, type ServerName, type ServersOptions } from '@gateway/servers';
import type { ServerRestarter } from '../children/restart-servers.js';
import type { SystemOptions } from '../system-options.js';

/** All servers that have been started, by their names. */
export type Members = Record<string, RunningServer>;

/** Starts one server and adds it to the members. */
export type Start = (name: string, kind: ServerName, own: Omit<ServersOptions, 'stateDirectory'>) => Promise<void>;

/** What servers of a kind are started with. */
export interface ClusterParts {
  readonly start: Start;
  readonly members: Members;
  readonly restarter: ServerRestarter;
  readonly between: Between;
}

/** How often it is looked which server of a kind leads, milliseconds. */
export const LEADER_LOOK_MS = 300;
/** How often something that is waited for is asked again, milliseconds. */
export const LOOK_MS = 100;

export async function portsFor(names: readonly string[]): Promise<Record<string, number>> {
  const ports: Record<string, number> = {};
  for (const name of names) ports[name] = await freePort();
  return ports;
}

/** The way to a port between servers: the port itself, or that of a proxy before it. */
export type Between = NonNullable<SystemOptions['between']>;

/** The ports by which these members are reached from there. */
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

/** The server that leads, whichever that is when it is asked; `stop` ends all of its kind. */
export function leaderOf(
  members: Members,
  names: readonly string[],
  leader: () => RunningServer | undefined,
): RunningServer {
  const first = members[names[0] ?? ''];
  if (first === undefined) throw new Error('no server of a kind has started');
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

import { findBinaries } from './find-binaries.js';
import { defaultCacheDirectory } from './resolve-server.js';
import type { ServerKind } from './server-kind.js';
import { remediesFor } from './server-unavailable.js';
import { type Resolver, SERVER_NAMES, type ServerName, allowedResolvers } from './server.js';
import { SERVER_KINDS } from './start-servers.js';
import { readServerUrl, useUrl } from './use-url.js';

const URL_WAIT_MS = 2_000;

export interface Inspection {
  name: ServerName;
  /** Null if no resolver provides the server. */
  resolver: Resolver | null;
  version: string;
  source: string;
  problem?: string;
  remedies?: string[];
}

export interface InspectOptions {
  cacheDirectory?: string;
  env?: NodeJS.ProcessEnv;
}

/** Reports which resolver `startServers` would use for each server, without starting it. */
export function inspectServers(options: InspectOptions): Promise<Inspection[]> {
  return Promise.all(SERVER_NAMES.map((name) => inspect(SERVER_KINDS[name], options)));
}

async function inspect(kind: ServerKind, options: InspectOptions): Promise<Inspection> {
  const problems: string[] = [];
  for (const resolver of allowedResolvers(options.env ?? process.env)) {
    const found = await inspectResolver(resolver, kind, options);
    if (typeof found !== 'string') return { name: kind.name, resolver, ...found };
    problems.push(`${resolver}: ${found}`);
    if (resolver === 'url' && (await readServerUrl(kind, options.env ?? process.env)) !== null) break;
  }
  const remedies = remediesFor(kind);
  return { name: kind.name, resolver: null, version: '-', source: '-', problem: problems.join('; '), remedies };
}

/**
 * Returns version and source of the server that the resolver would provide, or the reason why it
 * provides none.
 */
async function inspectResolver(
  resolver: Resolver,
  kind: ServerKind,
  { cacheDirectory = defaultCacheDirectory(), env = process.env }: InspectOptions,
): Promise<{ version: string; source: string } | string> {
  switch (resolver) {
    case 'url': {
      const given = await readServerUrl(kind, env);
      if (given === null) return `${kind.urlVariables.join(' and ')} not set`;
      return useUrl(kind, given, URL_WAIT_MS).then(pickShown, (error: Error) => error.message);
    }
    case 'binary': {
      const { programs, reasons } = await findBinaries(kind, env);
      return programs[0] ? pickShown(programs[0]) : reasons.join(', ');
    }
    case 'project': {
      const found = await kind.findProject(cacheDirectory, { fetch: false, log: () => undefined });
      if (found.programs[0]) return pickShown(found.programs[0]);
      if (found.fetchable) return { version: 'fetched on first start', source: found.fetchable };
      return found.reasons.join(', ');
    }
    case 'docker':
      return inspectDocker(kind);
  }
}

async function inspectDocker(kind: ServerKind): Promise<{ version: string; source: string } | string> {
  const { getContainerRuntimeClient } = await import('testcontainers');
  const { image } = kind.container({ stateDirectory: '', postgres: { superuserPassword: 'unused' } });
  return getContainerRuntimeClient().then(
    () => ({ version: 'pulled on first start', source: `container image ${image}` }),
    (error: Error) => `no Docker engine responds: ${error.message}`,
  );
}

function pickShown({ version, source }: { version: string; source: string }): { version: string; source: string } {
  return { version, source };
}

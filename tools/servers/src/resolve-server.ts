import { fileURLToPath } from 'node:url';
import { findBinaries } from './find-binaries.js';
import { runProgram } from './run-program.js';
import { type ProgramSearch, ResolverSkipped, type ServerKind } from './server-kind.js';
import { type ResolverReason, ServerUnavailable } from './server-unavailable.js';
import { RESOLVERS, type Resolver, type RunningServer, type ServersOptions, allowedResolvers } from './server.js';
import { startContainer } from './start-container.js';
import { readServerUrl, useUrl } from './use-url.js';

/** The resolver provided a server, or the next one is tried for these reasons. */
type ResolverResult = { server: RunningServer } | { reasons: string[] };

/**
 * Uses the first resolver that provides a server, and logs why each earlier one did not. An
 * unusable URL ends the search, because the user expects that server instead of an empty one.
 * @throws ServerUnavailable if no resolver provides a server
 */
export async function resolveServer(kind: ServerKind, options: ServersOptions): Promise<RunningServer> {
  const startedAt = performance.now();
  const log = (line: string): void => options.log?.(`${kind.name}: ${line}`);
  const allowed = allowedResolvers(options.env ?? process.env);
  const skipped: ResolverReason[] = [];
  for (const resolver of RESOLVERS) {
    const step = allowed.includes(resolver)
      ? await tryResolver(resolver, kind, options, log)
      : { reasons: ['not in GATEWAY_SERVER_SOURCES'] };
    if ('server' in step) {
      const { version, source } = step.server;
      const seconds = ((performance.now() - startedAt) / 1_000).toFixed(2);
      log(`${resolver} selected: ${kind.title} ${version} from ${source}, ready after ${seconds} s`);
      return step.server;
    }
    for (const reason of step.reasons) {
      skipped.push({ resolver, reason });
      log(`${resolver} skipped: ${reason}`);
    }
  }
  throw new ServerUnavailable(kind, skipped);
}

async function tryResolver(
  resolver: Resolver,
  kind: ServerKind,
  options: ServersOptions,
  log: (line: string) => void,
): Promise<ResolverResult> {
  const env = options.env ?? process.env;
  switch (resolver) {
    case 'url':
      return takeUrl(kind, env);
    case 'binary':
      return runFirst(kind, await findBinaries(kind, env), options);
    case 'project': {
      const cacheDirectory = options.cacheDirectory ?? defaultCacheDirectory();
      return runFirst(kind, await kind.findProject(cacheDirectory, { fetch: true, log }), options);
    }
    case 'docker':
      return attempt(() => startContainer(kind, options));
  }
}

async function takeUrl(kind: ServerKind, env: NodeJS.ProcessEnv): Promise<ResolverResult> {
  const given = await readServerUrl(kind, env);
  if (given === null) return { reasons: [`${kind.urlVariables.join(' and ')} not set`] };
  try {
    return { server: await useUrl(kind, given) };
  } catch (error) {
    throw new ServerUnavailable(kind, [{ resolver: 'url', reason: (error as Error).message }]);
  }
}

async function runFirst(kind: ServerKind, found: ProgramSearch, options: ServersOptions): Promise<ResolverResult> {
  const reasons = [...found.reasons];
  for (const program of found.programs) {
    const step = await attempt(() => runProgram(kind, program, options));
    if ('server' in step) return step;
    reasons.push(...step.reasons);
  }
  return { reasons };
}

async function attempt(start: () => Promise<RunningServer>): Promise<ResolverResult> {
  try {
    return { server: await start() };
  } catch (error) {
    if (error instanceof ResolverSkipped) return { reasons: [error.message] };
    throw error;
  }
}

/** Returns `.infra` in the checkout of this package, for code in `src` and in `dist`. */
export function defaultCacheDirectory(): string {
  return fileURLToPath(new URL('../../../.infra', import.meta.url));
}

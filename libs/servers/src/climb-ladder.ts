import { allowedRungs } from './allowed-rungs.js';
import { defaultCacheDirectory } from './cache-directory.js';
import { findBinaries } from './find-binaries.js';
import { runProgram } from './run-program.js';
import { RungSkipped } from './server-kind.js';
import type { Found, ServerKind } from './server-kind.js';
import { ServerUnavailable } from './server-unavailable.js';
import type { RungReason } from './server-unavailable.js';
import { RUNGS } from './server.js';
import type { Rung, RunningServer, ServersOptions } from './server.js';
import { startContainer } from './start-container.js';
import { urlFrom, useUrl } from './use-url.js';

/** A rung's server, or the reasons for going on. */
type Step = { server: RunningServer } | { reasons: string[] };

/**
 * Takes the first rung that gives a server and logs it together with the reason for each rung passed over. A URL that is set
 * but of no use stops here: whoever names a server does not want an empty one in its place.
 */
export async function climbLadder(kind: ServerKind, options: ServersOptions): Promise<RunningServer> {
  const startedAt = performance.now();
  const log = (line: string): void => options.log?.(`${kind.name}: ${line}`);
  const allowed = allowedRungs(options.env ?? process.env);
  const skipped: RungReason[] = [];
  for (const rung of RUNGS) {
    const step = allowed.includes(rung)
      ? await takeRung(rung, kind, options, log)
      : { reasons: ['not in GATEWAY_SERVERS_RUNGS'] };
    if ('server' in step) {
      const { version, source } = step.server;
      const seconds = ((performance.now() - startedAt) / 1_000).toFixed(2);
      log(`${rung} taken: ${kind.title} ${version} from ${source}, ready after ${seconds} s`);
      return step.server;
    }
    for (const reason of step.reasons) {
      skipped.push({ rung, reason });
      log(`${rung} skipped: ${reason}`);
    }
  }
  throw new ServerUnavailable(kind, skipped);
}

async function takeRung(
  rung: Rung,
  kind: ServerKind,
  options: ServersOptions,
  log: (line: string) => void,
): Promise<Step> {
  const env = options.env ?? process.env;
  switch (rung) {
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

async function takeUrl(kind: ServerKind, env: NodeJS.ProcessEnv): Promise<Step> {
  const given = await urlFrom(kind, env);
  if (given === null) return { reasons: [`${kind.urlVariables.join(' and ')} not set`] };
  try {
    return { server: await useUrl(kind, given) };
  } catch (error) {
    throw new ServerUnavailable(kind, [{ rung: 'url', reason: (error as Error).message }]);
  }
}

async function runFirst(kind: ServerKind, found: Found, options: ServersOptions): Promise<Step> {
  const reasons = [...found.reasons];
  for (const program of found.programs) {
    const step = await attempt(() => runProgram(kind, program, options));
    if ('server' in step) return step;
    reasons.push(...step.reasons);
  }
  return { reasons };
}

async function attempt(start: () => Promise<RunningServer>): Promise<Step> {
  try {
    return { server: await start() };
  } catch (error) {
    if (error instanceof RungSkipped) return { reasons: [error.message] };
    throw error;
  }
}

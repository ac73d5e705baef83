import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { findBinaries } from './find-binaries.js';
import { waitUntil } from './run-command.js';
import { runProgram } from './run-program.js';
import { ProbeRefused, ResolverSkipped, ServerUnavailable, isAtLeast } from './server-kind.js';
import type { ProbeResult, ProgramSearch, ServerKind } from './server-kind.js';
import { RESOLVERS, allowedResolvers } from './server.js';
import type { Resolver, RunningServer, ServersOptions } from './server.js';
import { containerSource, findEngineProblem, startContainer } from './start-container.js';

/** A server given by URL may also be starting. */
const URL_WAIT_MS = 10_000;
const URL_WAIT_DRY_MS = 2_000;
const PROBE_TIMEOUT_MS = 3_000;

/** A server that a resolver can provide. */
export interface Candidate {
  readonly resolver: Resolver;
  readonly version: string;
  readonly source: string;
  start(): Promise<RunningServer>;
}

interface Search {
  readonly candidates: readonly Candidate[];
  readonly reasons: readonly string[];
}

interface FindOptions extends ServersOptions {
  /** Fetches nothing, and waits only shortly for a server given by URL. */
  readonly isDry?: boolean;
}

/**
 * Returns the result of `take` for the first candidate that it accepts, and logs why each earlier
 * resolver was skipped. An unusable URL ends the search, because the user expects that server
 * instead of an empty one.
 * @param take throws `ResolverSkipped` to continue with the next candidate
 * @throws ServerUnavailable if no resolver provides a server
 */
export async function resolveServer<T>(
  kind: ServerKind,
  options: FindOptions,
  take: (candidate: Candidate) => Promise<T>,
): Promise<T> {
  const allowed = allowedResolvers(options.env ?? process.env);
  const skipped: string[] = [];
  for (const resolver of RESOLVERS) {
    const skip = (reason: string): void => {
      skipped.push(`${resolver}: ${reason}`);
      options.log?.(`${kind.name}: ${resolver} skipped: ${reason}`);
    };
    if (!allowed.includes(resolver)) {
      skip('not in GATEWAY_SERVER_SOURCES');
      continue;
    }
    const { candidates, reasons } = await FINDERS[resolver](kind, options);
    for (const reason of reasons) skip(reason);
    for (const candidate of candidates) {
      try {
        return await take(candidate);
      } catch (error) {
        if (!(error instanceof ResolverSkipped)) throw error;
        skip(error.message);
      }
    }
  }
  throw new ServerUnavailable(kind, skipped);
}

const FINDERS: Record<Resolver, (kind: ServerKind, options: FindOptions) => Promise<Search>> = {
  async url(kind, options) {
    const given = await readServerUrl(kind, options.env ?? process.env);
    if (given === null) return { candidates: [], reasons: [`${kind.urlVariables.join(' and ')} not set`] };
    const server = await useUrl(kind, given, options.isDry ? URL_WAIT_DRY_MS : URL_WAIT_MS).catch((error: Error) => {
      throw new ServerUnavailable(kind, [`url: ${error.message}`]);
    });
    return { candidates: [{ ...server, start: () => Promise.resolve(server) }], reasons: [] };
  },

  binary: async (kind, options) => asSearch(kind, await findBinaries(kind, options.env ?? process.env), options),

  async project(kind, options) {
    const log = (line: string): void => options.log?.(`${kind.name}: ${line}`);
    const cacheDirectory = options.cacheDirectory ?? defaultCacheDirectory();
    const found = await kind.findProject(cacheDirectory, { fetch: options.isDry !== true, log });
    return asSearch(kind, found, options);
  },

  async docker(kind, options) {
    const problem = await findEngineProblem();
    if (problem !== null) return { candidates: [], reasons: [problem] };
    const source = containerSource(kind, options);
    const start = (): Promise<RunningServer> => startContainer(kind, options);
    return { candidates: [{ resolver: 'docker', version: 'pulled on first start', source, start }], reasons: [] };
  },
};

function asSearch(kind: ServerKind, { programs, reasons }: ProgramSearch, options: ServersOptions): Search {
  return { candidates: programs.map((one) => ({ ...one, start: () => runProgram(kind, one, options) })), reasons };
}

/** Returns `.infra` in the checkout of this package, for code in `src` and in `dist`. */
export function defaultCacheDirectory(): string {
  return fileURLToPath(new URL('../../../.infra', import.meta.url));
}

/**
 * Returns the URL from the environment (directly or as `NAME_FILE`) with the variable's name; null
 * if none is set.
 */
export async function readServerUrl(
  kind: ServerKind,
  env: NodeJS.ProcessEnv,
): Promise<{ variable: string; url: string } | null> {
  for (const variable of kind.urlVariables) {
    const file = env[`${variable}_FILE`];
    const url = env[variable] || (file ? (await readFile(file, 'utf8')).trim() : '');
    if (url) return { variable, url };
  }
  return null;
}

/**
 * Connects to the server at `url` and reads its version.
 * @throws Error with a reason without secrets if the server cannot be used
 */
async function useUrl(
  kind: ServerKind,
  { variable, url }: { variable: string; url: string },
  waitMs: number,
): Promise<RunningServer> {
  let answer: ProbeResult | undefined;
  let problem = '';
  await waitUntil(waitMs, async () => {
    try {
      answer = await kind.probe(url, PROBE_TIMEOUT_MS);
      return true;
    } catch (error) {
      problem = describe(error);
      return error instanceof ProbeRefused || error instanceof TypeError;
    }
  });
  if (answer === undefined) throw new Error(`${variable} is set, but its server cannot be used: ${problem}`);
  const { version } = answer;
  if (/^\d/.test(version) && !isAtLeast(version, kind.minimumVersion))
    throw new Error(`the server of ${variable} is ${version}, at least ${kind.minimumVersion} is needed`);
  const source = `${variable} (${url.replace(/\/\/[^@/]*@/g, '//').split('?')[0]})`;
  return { name: kind.name, resolver: 'url', url, version, pid: null, source, stop: () => Promise.resolve() };
}

/** If a name has several addresses, only the parts of the error have a text. */
function describe(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(describe).join(', ');
  return error instanceof Error ? error.message : String(error);
}

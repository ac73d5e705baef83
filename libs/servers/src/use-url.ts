import { readFile } from 'node:fs/promises';
import { ProbeRefused, isAtLeast } from './server-kind.js';
import type { Answer, ServerKind } from './server-kind.js';
import type { RunningServer } from './server.js';
import { waitUntil } from './wait-until.js';

/** A server that was given by URL may be starting too. */
const ANSWER_WAIT_MS = 10_000;
const PROBE_TIMEOUT_MS = 3_000;

/**
 * The URL that the environment gives (directly or as `NAME_FILE`) and the variable's name; null
 * when there is none.
 */
export async function urlFrom(
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
 * Connects to the server at `url` and reads its version; throws a reason without secrets when it is
 * of no use.
 */
export async function useUrl(
  kind: ServerKind,
  { variable, url }: { variable: string; url: string },
  waitMs = ANSWER_WAIT_MS,
): Promise<RunningServer> {
  const { version } = await probe(kind, variable, url, waitMs);
  if (/^\d/.test(version) && !isAtLeast(version, kind.minimumVersion)) {
    throw new Error(`the server of ${variable} is ${version}, at least ${kind.minimumVersion} is needed`);
  }
  const source = `${variable} (${url.replace(/\/\/[^@/]*@/g, '//').replace(/\?.*$/, '')})`;
  return { name: kind.name, resolver: 'url', url, version, pid: null, source, stop: () => Promise.resolve() };
}

async function probe(kind: ServerKind, variable: string, url: string, waitMs: number): Promise<Answer> {
  const seen: { answer?: Answer; problem?: string } = {};
  await waitUntil(waitMs, async () => {
    try {
      seen.answer = await kind.probe(url, PROBE_TIMEOUT_MS);
      return true;
    } catch (error) {
      seen.problem = describe(error);
      return error instanceof ProbeRefused || error instanceof TypeError;
    }
  });
  if (seen.answer) return seen.answer;
  throw new Error(`${variable} is set, but its server cannot be used: ${seen.problem}`);
}

/** A refused connection to a name with several addresses has its text only in the parts. */
function describe(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(describe).join(', ');
  return error instanceof Error ? error.message : String(error);
}

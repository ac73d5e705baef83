import { readFile } from 'node:fs/promises';
import { ProbeRefused, isAtLeast } from './server-kind.js';
import type { ProbeResult, ServerKind } from './server-kind.js';
import type { RunningServer } from './server.js';
import { waitUntil } from './wait-until.js';

/** A server given by URL may also be starting. */
const ANSWER_WAIT_MS = 10_000;
const PROBE_TIMEOUT_MS = 3_000;

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
 * Connects to the server at `url` and reads its version. Throws a reason without secrets if the
 * server cannot be used.
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

async function probe(kind: ServerKind, variable: string, url: string, waitMs: number): Promise<ProbeResult> {
  const seen: { answer?: ProbeResult; problem?: string } = {};
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

/** If a name has several addresses, only the parts of the error have a text. */
function describe(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(describe).join(', ');
  return error instanceof Error ? error.message : String(error);
}

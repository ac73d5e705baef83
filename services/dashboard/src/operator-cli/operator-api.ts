import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Arguments } from './read-arguments.js';

const PREFIX = '/operator/v1';
const TIMEOUT_MS = 60_000;
const PAGE_LIMIT = 200;
/** Most objects of one list that a program reads. */
const LIST_MAX = 20_000;

/** URL of the gateway and an API key for it; null: there is no demo key. */
export interface Gateway {
  readonly url: string;
  readonly apiKey: string | null;
}

export interface Target {
  readonly url: string;
  readonly token: string;
  /** Set for a local system. */
  readonly gateway: Gateway | null;
}
export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  readonly type?: string;
}

/** An error response of the operator API, with its body. */
export class ApiRefusal extends Error {
  constructor(
    readonly status: number,
    readonly text: string,
  ) {
    super(`the operator API answered ${status}`);
  }
}

/** Finds the operator API and its token: from options, else variables, else running.json. */
export function findTarget({ options }: Pick<Arguments, 'options'>, env: NodeJS.ProcessEnv): Target {
  const given = {
    url: options.url ?? env['GATEWAY_OPERATOR_URL'],
    token:
      options.token ??
      tokenOf(options['token-file']) ??
      env['GATEWAY_OPERATOR_TOKEN'] ??
      tokenOf(env['GATEWAY_OPERATOR_TOKEN_FILE']),
  };
  const running = given.url && given.token ? null : runningSystem(options.state ?? '.state');
  const url = given.url ?? running?.operatorUrl;
  const token = given.token ?? running?.operatorToken;
  if (!url || !token)
    throw new Error('the URL or the token of the operator API is missing: use --url and --token, or run npm start');
  const base = url.replace(/(?<!\/)\/+$/, '');
  const gateway = running?.edgeUrl === undefined ? null : { url: running.edgeUrl, apiKey: running.demoApiKey ?? null };
  return { url: base.endsWith(PREFIX) ? base : base + PREFIX, token, gateway };
}

/** Reads a token file and removes the line break at its end. */
function tokenOf(file: string | undefined): string | undefined {
  return file === undefined ? undefined : readFileSync(file, 'utf8').trim();
}

interface RunningSystem {
  readonly operatorUrl?: string;
  readonly operatorToken?: string;
  readonly edgeUrl?: string;
  readonly demoApiKey?: string | null;
}

function runningSystem(state: string): RunningSystem | null {
  try {
    return JSON.parse(readFileSync(join(state, 'running.json'), 'utf8')) as RunningSystem;
  } catch {
    return null;
  }
}

/** Sends one request and returns the response unchanged. */
export function send(
  { url, token }: Target,
  { method, path, body, type }: ApiRequest,
  key?: string,
): Promise<Response> {
  return fetch(url + path, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(type === undefined ? {} : { 'content-type': type }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
    ...(body === undefined ? {} : { body }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
}

/** The operator API for programs. An error response rejects with {@link ApiRefusal}. */
export interface OperatorApi {
  get<T>(path: string): Promise<T>;
  /** Returns null for a 404. */
  find<T>(path: string): Promise<T | null>;
  list<T>(path: string): Promise<T[]>;
  /** Reads at most `most` entries of a list. @param query additional query parameters */
  first<T>(path: string, query: Readonly<Record<string, string>>, most: number): Promise<T[]>;
  post<T>(path: string, body: object): Promise<T>;
  put<T>(path: string, body: object): Promise<T>;
}

export function createOperatorApi(target: Target): OperatorApi {
  async function ask<T>(question: ApiRequest): Promise<T> {
    const response = await send(target, question);
    const text = await response.text();
    if (!response.ok) throw new ApiRefusal(response.status, text);
    return JSON.parse(text) as T;
  }
  const get = <T>(path: string): Promise<T> => ask<T>({ method: 'GET', path });
  async function first<T>(path: string, query: Readonly<Record<string, string>>, most: number): Promise<T[]> {
    const all: T[] = [];
    let cursor: string | null = null;
    do {
      const parameters: Record<string, string> = { ...query, limit: String(PAGE_LIMIT) };
      if (cursor !== null) parameters['cursor'] = cursor;
      const asked = new URLSearchParams(parameters).toString();
      const page: { data: T[]; next_cursor: string | null } = await get(`${path}?${asked}`);
      all.push(...page.data);
      cursor = page.next_cursor;
    } while (cursor !== null && all.length < most);
    return all.slice(0, most);
  }
  return {
    get,
    async find<T>(path: string): Promise<T | null> {
      try {
        return await get<T>(path);
      } catch (error) {
        if (error instanceof ApiRefusal && error.status === 404) return null;
        throw error;
      }
    },
    async list<T>(path: string): Promise<T[]> {
      const all = await first<T>(path, {}, LIST_MAX + 1);
      if (all.length > LIST_MAX) throw new Error(`${path} has more than ${LIST_MAX} objects`);
      return all;
    },
    first,
    post: (path, body) => ask({ method: 'POST', path, body: JSON.stringify(body), type: 'application/json' }),
    put: (path, body) => ask({ method: 'PUT', path, body: JSON.stringify(body), type: 'application/json' }),
  };
}

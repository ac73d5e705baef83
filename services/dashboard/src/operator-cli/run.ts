import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findOperation, typedValue, type Found, type OpenApi } from './find-operation.js';
import { readArguments, type Arguments } from './read-arguments.js';

const USAGE = `operator <METHOD> /path ['{json}' | --file f]     a file named - is standard input
operator <collection> <verb> [id…] [--field value… | --file f]     keys rotate key_1 · accounts create --name Ada --email a@b.c
operator apply -f file.yaml [--dry-run] [--prune]
  --url, --token-file; else GATEWAY_OPERATOR_URL, GATEWAY_OPERATOR_TOKEN or GATEWAY_OPERATOR_TOKEN_FILE; else <state>/running.json
  (--state, default .state). --token is seen by everybody who may list this machine's processes.
`;
const PREFIX = '/operator/v1';
const TIMEOUT_MS = 60_000;

export interface Output {
  out(text: string): void;
  error(text: string): void;
}
interface Target {
  readonly url: string;
  readonly token: string;
}
interface Question {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  readonly type?: string;
}

/**
 * One command against the operator API. Answers the exit code: 0 done, 1 refused or unreachable, 2
 * not understood.
 */
export async function runOperatorCommand(line: readonly string[], env: NodeJS.ProcessEnv, to: Output): Promise<number> {
  try {
    const given = readArguments(line);
    if (given.words.length === 0) throw new Error('nothing is asked');
    const target = targetOf(given, env);
    const question = await questionOf(given, target);
    const response = await send(target, question, given.options['idempotency-key']);
    if (response.ok && response.headers.get('content-type')?.startsWith('application/json') === false) {
      // A file of any length, as it comes; one that is cut off throws.
      const decoder = new TextDecoder();
      for await (const chunk of response.body ?? []) to.out(decoder.decode(chunk as Uint8Array, { stream: true }));
      return 0;
    }
    const text = await response.text();
    const shown = text === '' ? '' : `${JSON.stringify(JSON.parse(text), null, 2)}\n`;
    if (response.ok) to.out(shown);
    else to.error(shown);
    return response.ok ? 0 : 1;
  } catch (error) {
    const { message, cause } = error as Error;
    to.error(`${message}${cause instanceof Error ? `: ${cause.message}` : ''}\n\n${USAGE}`);
    return 2;
  }
}

function targetOf({ options }: Arguments, env: NodeJS.ProcessEnv): Target {
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
  if (!url || !token) throw new Error('where the operator API is, or its token, is not known');
  const base = url.replace(/\/+$/, '');
  return { url: base.endsWith(PREFIX) ? base : base + PREFIX, token };
}

/** Without the line break at its end. */
function tokenOf(file: string | undefined): string | undefined {
  return file === undefined ? undefined : readFileSync(file, 'utf8').trim();
}

function runningSystem(state: string): { operatorUrl?: string; operatorToken?: string } | null {
  try {
    return JSON.parse(readFileSync(join(state, 'running.json'), 'utf8')) as { operatorUrl?: string };
  } catch {
    return null;
  }
}

async function questionOf(given: Arguments, target: Target): Promise<Question> {
  const [first = '', second = '', third] = given.words;
  const fromFile = fileBody(given.options.file);
  if (second.startsWith('/')) {
    const text = third === undefined ? {} : { body: third, type: 'application/json' };
    return { method: first.toUpperCase(), path: second, ...text, ...fromFile };
  }
  const response = await send(target, { method: 'GET', path: '/openapi.json' });
  const document = (await response.json()) as OpenApi;
  const found = findOperation(document, given.words);
  if (found === null) throw new Error(`not understood: ${given.words.join(' ')}`);
  return { ...withFields(document, found, given), ...fromFile };
}

/** Fields that the operation takes as a query go there, all others into the body. */
function withFields(document: OpenApi, { method, path, operation }: Found, { fields }: Arguments): Question {
  const query = new URLSearchParams();
  const body: Record<string, unknown> = {};
  const schema = operation.requestBody?.content['application/json'].schema;
  for (const [name, text] of fields) {
    if (method === 'GET' || operation.parameters.some((one) => one.in === 'query' && one.name === name)) {
      query.append(name, text);
    } else setField(body, name.split('.'), typedValue(document, schema, name, text));
  }
  const asked = query.size === 0 ? path : `${path}?${query.toString()}`;
  const isSent = Object.keys(body).length > 0 || schema !== undefined;
  return { method, path: asked, ...(isSent ? { body: JSON.stringify(body), type: 'application/json' } : {}) };
}

function setField(body: Record<string, unknown>, [name = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) body[name] = value;
  else setField((body[name] ??= {}) as Record<string, unknown>, rest, value);
}

function fileBody(file: string | undefined): Pick<Question, 'body' | 'type'> {
  if (file === undefined) return {};
  const body = readFileSync(file === '-' ? 0 : file, 'utf8');
  // What is piped has no name that says what it is; only `apply` takes YAML.
  const isPlain = file === '-' ? isJson(body) : file.endsWith('.json');
  return { body, type: isPlain ? 'application/json' : 'application/yaml' };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function send({ url, token }: Target, { method, path, body, type }: Question, key?: string): Promise<Response> {
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

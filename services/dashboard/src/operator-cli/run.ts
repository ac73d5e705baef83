import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { ADD_PROVIDER } from './add-provider.js';
import { APPLY, DRIFT } from './apply-configuration.js';
import { findOperation, typedValue, type MatchedOperation, type OpenApi } from './find-operation.js';
import { COMPARE_PRICES, IMPORT_PRICES } from './import-prices.js';
import { LIST_PROFILES } from './list-profiles.js';
import { createOperatorApi, ApiRefusal, send, findTarget, type ApiRequest, type Target } from './operator-api.js';
import { UsageError, type Output, type Program, type ProgramClock } from './program.js';
import { SHOW_LEDGER } from './show-ledger.js';
import { SHOW_PROPOSAL } from './show-proposal.js';
import { TEST_SOURCE } from './test-source.js';
import { WATCH_PRICES } from './watch-prices.js';
import { readArguments, type Arguments } from './read-arguments.js';

export { createOperatorApi, type Output };
export { cheapestFirst } from '../price-lists/margins.js';
export { hasBundledModels } from './read-list.js';

/** Commands that send more than one request. */
const PROGRAMS: readonly Program[] = [
  APPLY,
  DRIFT,
  LIST_PROFILES,
  ADD_PROVIDER,
  COMPARE_PRICES,
  IMPORT_PRICES,
  WATCH_PRICES,
  SHOW_PROPOSAL,
  TEST_SOURCE,
  SHOW_LEDGER,
];
const SYSTEM_CLOCK: ProgramClock = { nowMs: () => Date.now(), sleep: (ms) => setTimeout(ms) };

const USAGE = `operator <METHOD> /path ['{json}' | --file f]     a file named - is standard input
operator <collection> <verb> [id…] [--field value… | --file f]     keys rotate key_1 · accounts create --name Ada --email a@b.c
${PROGRAMS.map(({ form }) => `operator ${form}\n`).join('')}  --url, --token-file; else GATEWAY_OPERATOR_URL, GATEWAY_OPERATOR_TOKEN or GATEWAY_OPERATOR_TOKEN_FILE; else <state>/running.json
  (--state, default .state). --token is visible to everyone who can list this machine's processes.
`;
/**
 * Runs one command against the operator API. Returns the exit code: 0 success, 1 refused or
 * unreachable, 2 not understood. `drift` returns 2 for a difference, and 1 for every error.
 */
export async function runOperatorCommand(
  line: readonly string[],
  env: NodeJS.ProcessEnv,
  to: Output,
  clock: ProgramClock = SYSTEM_CLOCK,
): Promise<number> {
  try {
    const given = readArguments(line);
    if (given.words.length === 0) throw new Error('no command given');
    const target = findTarget(given, env);
    const program = PROGRAMS.find(({ name }) => name.every((word, place) => given.words[place] === word));
    if (program !== undefined) {
      const words = given.words.slice(program.name.length);
      const file = given.options.file ?? null;
      const { gateway } = target;
      const api = createOperatorApi(target);
      return await program.run({ words, fields: given.fields, file, api, env, clock, gateway, to });
    }
    const question = await buildRequest(given, target);
    const response = await send(target, question, given.options['idempotency-key']);
    if (response.ok && response.headers.get('content-type')?.startsWith('application/json') === false) {
      // Writes a file of any length as it arrives. An aborted file throws.
      const decoder = new TextDecoder();
      for await (const chunk of response.body ?? []) to.out(decoder.decode(chunk as Uint8Array, { stream: true }));
      return 0;
    }
    const text = await response.text();
    if (response.ok) to.out(inLines(text));
    else to.error(inLines(text));
    return response.ok ? 0 : 1;
  } catch (error) {
    if (error instanceof ApiRefusal) {
      to.error(inLines(error.text));
      return 1;
    }
    if (error instanceof UsageError) {
      to.error(`${error.message}\n`);
      return 2;
    }
    const { message, cause } = error as Error;
    to.error(`${message}${cause instanceof Error ? `: ${cause.message}` : ''}\n\n${USAGE}`);
    return line[0] === 'drift' ? 1 : 2;
  }
}

function inLines(json: string): string {
  return json === '' ? '' : `${JSON.stringify(JSON.parse(json), null, 2)}\n`;
}

async function buildRequest(given: Arguments, target: Target): Promise<ApiRequest> {
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

/** Puts fields into the query if the operation declares them there, else into the body. */
function withFields(
  document: OpenApi,
  { method, path, operation }: MatchedOperation,
  { fields }: Arguments,
): ApiRequest {
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

function fileBody(file: string | undefined): Pick<ApiRequest, 'body' | 'type'> {
  if (file === undefined) return {};
  const body = readFileSync(file === '-' ? 0 : file, 'utf8');
  // Standard input has no file name that shows its type. Only `apply` accepts YAML.
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

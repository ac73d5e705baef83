import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { messageAnswer, responseAnswer, searchItem, startScriptedProvider } from './scripted-provider.js';
import { textBlock, textItem } from './scripted-provider.js';
import type { Block, OutputItem, ScriptedAnswer, ScriptedProvider } from './scripted-provider.js';
import type { SharedSystem } from './system.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const OPERATOR_PROGRAM = 'services/dashboard/dist/operator-cli/main.js';
const PROGRAM_MS_MAX = 60_000;

/** A request as a coding agent sent it. */
export interface AgentRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/**
 * Requests of real agents, by agent and version, captured from the programs that
 * `coding-agents.system.test.ts` runs. Long texts are replaced by filler of the same length, and
 * IDs by others. Names, types and structure are unchanged.
 */
export function capturedRequests(): [string, AgentRequest][] {
  const file = new URL('./agent-requests.json', import.meta.url);
  return Object.entries(withFiller(JSON.parse(readFileSync(file, 'utf8'))) as Record<string, AgentRequest>);
}

/** Replaces `{ $filler: n }` by a text of n characters. */
function withFiller(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withFiller);
  if (typeof value !== 'object' || value === null) return value;
  const { $filler: length, ...others } = value as Record<string, unknown>;
  if (typeof length !== 'number') {
    return Object.fromEntries(Object.entries(others).map(([name, each]) => [name, withFiller(each)]));
  }
  const filler = 'lorem ipsum '.repeat(Math.ceil(length / 12)).slice(0, length);
  return Object.keys(others).length === 0 ? filler : { ...others, description: filler };
}

/** One model output: text, a call of a client tool, or a search that the provider runs. */
export type AgentStep =
  | { readonly text: string }
  | { readonly tool: string; readonly namespace?: string; readonly input: object }
  | { readonly search: string };

/** The usage that each response of {@link startAgentProvider} reports. */
export const RESPONSES_USAGE = {
  input_tokens: 5_000,
  input_tokens_details: { cached_tokens: 2_000 },
  output_tokens: 300,
  output_tokens_details: { reasoning_tokens: 100 },
  total_tokens: 5_300,
};
export const MESSAGES_USAGE = {
  input_tokens: 40,
  cache_read_input_tokens: 5_000,
  cache_creation_input_tokens: 3_000,
  cache_creation: { ephemeral_5m_input_tokens: 1_000, ephemeral_1h_input_tokens: 2_000 },
  output_tokens: 120,
};

/**
 * Starts a provider for agents. @param decide returns the output for a request, from its body's
 * text
 */
export function startAgentProvider(
  decide: (text: string) => Promise<readonly AgentStep[]> | readonly AgentStep[],
): Promise<ScriptedProvider> {
  return startScriptedProvider(async ({ path, text }, number) => {
    const steps = await decide(text);
    if (path === '/v1/responses') return makeResponse(steps, number);
    return path === '/v1/messages' ? makeMessage(steps, number) : null;
  });
}

function makeResponse(steps: readonly AgentStep[], number: number): ScriptedAnswer {
  return responseAnswer(
    steps.map((step, index) => outputItem(step, `${number}_${index}`)),
    RESPONSES_USAGE,
  );
}

function outputItem(step: AgentStep, id: string): OutputItem {
  if ('text' in step) return textItem(`msg_${id}`, step.text);
  if ('search' in step) return searchItem(`ws_${id}`, 'search');
  const { tool: name, input, ...namespace } = step;
  const call = { call_id: `call_${id}`, status: 'completed', name, ...namespace, arguments: JSON.stringify(input) };
  return { type: 'function_call', id: `fc_${id}`, ...call };
}

function makeMessage(steps: readonly AgentStep[], number: number): ScriptedAnswer {
  const searches = steps.filter((step) => 'search' in step).length;
  const uses = searches === 0 ? {} : { server_tool_use: { web_search_requests: searches } };
  return messageAnswer(
    steps.flatMap((step, index) => blocksOf(step, `${number}_${index}`)),
    { ...MESSAGES_USAGE, ...uses },
    { id: `msg_${number}`, stopReason: steps.some((step) => 'tool' in step) ? 'tool_use' : 'end_turn' },
  );
}

function blocksOf(step: AgentStep, id: string): Block[] {
  if ('text' in step) return [textBlock(step.text)];
  const withInput = (plain: object, input: object): Block => ({
    plain: { ...plain, input },
    start: { ...plain, input: {} },
    delta: { type: 'input_json_delta', partial_json: JSON.stringify(input) },
  });
  if ('tool' in step) return [withInput({ type: 'tool_use', id: `toolu_${id}`, name: step.tool }, step.input)];
  const tool_use_id = `srvtoolu_${id}`;
  const found = { type: 'web_search_result', title: 'A page', url: 'https://example.org/', encrypted_content: 'e' };
  const result = { type: 'web_search_tool_result', tool_use_id, content: [found] };
  return [
    withInput({ type: 'server_tool_use', id: tool_use_id, name: 'web_search' }, { query: step.search }),
    { plain: result, start: result, delta: null },
  ];
}

/** Adds models of the bundled list with the documented command, at the listed prices. */
export async function addProvider(
  { operatorUrl, operatorToken }: Pick<SharedSystem, 'operatorUrl' | 'operatorToken'>,
  { profile, id, models, url, more = [] }: AddedProvider,
): Promise<void> {
  const words = ['providers', 'add', profile, '--id', id, '--models', models.join(','), '--base-url', url, '--apply'];
  const access = ['--key-env', 'PROVIDER_KEY', '--url', operatorUrl, '--token', operatorToken];
  const env = { ...process.env, PROVIDER_KEY: 'sk-of-a-test' };
  const program = `${ROOT}${OPERATOR_PROGRAM}`;
  const { code, output } = await runProgram(process.execPath, [program, ...words, ...more, ...access], env);
  if (code !== 0) throw new Error(`providers add ${profile}: ${code}\n${output}`);
}

export interface AddedProvider {
  readonly profile: string;
  readonly id: string;
  readonly models: readonly string[];
  /** Replaces the profile's base URL. */
  readonly url: string;
  /** Further arguments of the command. */
  readonly more?: readonly string[];
}

/** Runs a program to its end, without input. */
export function runProgram(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  cwd: string = ROOT,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'], timeout: PROGRAM_MS_MAX });
    let output = '';
    const add = (chunk: Buffer): void => void (output += chunk.toString());
    child.stdout.on('data', add);
    child.stderr.on('data', add);
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}

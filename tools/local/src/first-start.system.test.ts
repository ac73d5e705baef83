import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, readdirSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { startProviderSimulator } from '@gateway/provider-simulator';
import { withoutLentServers } from '@gateway/servers';
import { temporaryDirectory, until } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const KEYS = {
  OPENAI_API_KEY: 'sk-openai-0123456789',
  ANTHROPIC_API_KEY: 'sk-anthropic-0123456789',
  GEMINI_API_KEY: 'sk-gemini-0123456789',
  AZURE_OPENAI_API_KEY: 'sk-azure-0123456789',
  OPENROUTER_API_KEY: 'sk-openrouter-0123456789',
};
/** Each provider by the first part of its path, with the header for its key. */
const PROVIDERS: Readonly<Record<string, { header: string; value: string }>> = {
  openai: { header: 'authorization', value: `Bearer ${KEYS.OPENAI_API_KEY}` },
  anthropic: { header: 'x-api-key', value: KEYS.ANTHROPIC_API_KEY },
  gemini: { header: 'authorization', value: `Bearer ${KEYS.GEMINI_API_KEY}` },
  azure: { header: 'api-key', value: KEYS.AZURE_OPENAI_API_KEY },
  openrouter: { header: 'authorization', value: `Bearer ${KEYS.OPENROUTER_API_KEY}` },
};
/** A model list in OpenRouter's format. */
const OPENROUTER_MODELS = {
  data: [
    {
      id: 'acme/small-1',
      name: 'Acme: Small 1',
      context_length: 128_000,
      pricing: { prompt: '0.0000002', completion: '0.0000008', input_cache_read: '0.00000002', request: '0' },
    },
    { id: 'acme/auto', name: 'Auto', pricing: { prompt: '-1', completion: '-1' } },
  ],
};
const ENDPOINT = /\/(chat\/completions|messages|messages\/count_tokens|responses|embeddings)$/;
const MS_MAX = 120_000;
const hasCurl = (() => {
  try {
    execFileSync('curl', ['--version']);
    return true;
  } catch {
    return false;
  }
})();

/** Starts five providers on one port. It checks their keys; the simulator responds. */
async function startProviders(): Promise<{ url: string; asked: string[]; stop(): Promise<void> }> {
  const simulator = await startProviderSimulator();
  const asked: string[] = [];
  const server: Server = createServer((request, response) => {
    void (async () => {
      const path = (request.url ?? '').replace(/\?.*/, '');
      const name = path.split('/')[1] ?? '';
      const provider = PROVIDERS[name];
      const endpoint = ENDPOINT.exec(path)?.[0];
      if (provider === undefined || request.headers[provider.header] !== provider.value)
        return response.writeHead(401, JSON_TYPE).end('{"error":{"message":"Incorrect API key provided"}}');
      if (request.method === 'GET' && path.endsWith('/models'))
        return response.writeHead(200, JSON_TYPE).end(JSON.stringify(OPENROUTER_MODELS));
      if (endpoint === undefined) return response.writeHead(404, JSON_TYPE).end('{"error":{"message":"no such path"}}');
      const body = await buffer(request);
      const { model } = JSON.parse(body.toString()) as { model: string };
      asked.push(`${name} ${endpoint} ${model}`);
      return await forward(`${simulator.urls[0]}/v1${endpoint}`, request, body, response);
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async stop() {
      server.close();
      server.closeAllConnections();
      await simulator.close();
    },
  };
}

const JSON_TYPE = { 'content-type': 'application/json' };

async function forward(url: string, { headers }: IncomingMessage, body: Buffer, to: ServerResponse): Promise<void> {
  const version = headers['anthropic-version'];
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      ...JSON_TYPE,
      authorization: 'Bearer any',
      ...(version === undefined ? {} : { 'anthropic-version': String(version) }),
    },
    body: new Uint8Array(body),
  });
  to.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
  to.end(Buffer.from(await answer.arrayBuffer()));
}

/** Starts the program of `npm start` and returns its output until it was ready. */
async function start(state: string, url: string): Promise<{ child: ChildProcess; said: string }> {
  const args = ['--state', state, '--port', '0', '--dashboard-port', '0', '--operator-port', '0'];
  const bases = { openai: '/openai', anthropic: '/anthropic', gemini: '/gemini/v1beta/openai' };
  for (const [name, base] of Object.entries(bases))
    args.push('--provider', name, '--provider-url', `${name}=${url}${base}`);
  const child = spawn(process.execPath, ['tools/local/dist/main.js', ...args], {
    cwd: ROOT,
    env: { ...withoutLentServers(), ...KEYS },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += String(text)));
  await until('the system is ready', () => /^ready: /m.test(said) || child.exitCode !== null, MS_MAX);
  if (child.exitCode !== null) throw new Error(`it did not start:\n${said}`);
  return { child, said };
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

const world = duringTests(async () => {
  const directory = temporaryDirectory('first-start');
  chmodSync(directory.path, 0o711);
  const providers = await startProviders();
  const running = { system: await start(directory.path, providers.url) };
  return {
    state: directory.path,
    providers,
    running,
    async stop() {
      await stop(running.system.child);
      await providers.stop();
      directory.remove();
    },
  };
});

const running = () => JSON.parse(readFileSync(`${world.state}/running.json`, 'utf8')) as { demoApiKey: string | null };

/** Runs a printed command and returns its record in the ledger. */
async function paste(command: string): Promise<{ status: string; modelId: string; chargedUsd: string }> {
  const { stdout } = await promisify(execFile)('bash', ['-c', command]);
  const status = /^HTTP\S+ (\d+)/.exec(stdout)?.[1] ?? '';
  const id = /^x-gateway-request-id: (\S+)/im.exec(stdout)?.[1] ?? '';
  let record = { modelId: '', chargedUsd: '' };
  await until(
    `request ${id} is in the ledger`,
    async () => {
      try {
        const line = await operator('ledger', 'show', id);
        record = JSON.parse(line.slice(0, line.indexOf('\nledger transaction'))) as typeof record;
        return true;
      } catch {
        return false;
      }
    },
    30_000,
  );
  return { status, ...record };
}

async function operator(...line: string[]): Promise<string> {
  const args = ['services/dashboard/dist/operator-cli/main.js', ...line, '--state', world.state];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT, env: { ...process.env, ...KEYS } });
  return stdout;
}

test('the first start with providers prints the demo key and the demo user', () => {
  const { said } = world.running.system;
  expect(said).toMatch(/^demo API key +\S{20,}$/m);
  expect(said).toMatch(/^demo sign-in +demo@example.com +\S+$/m);
  expect(said).not.toContain('There is no demo key');
  expect(running().demoApiKey).toBe(/^demo API key +(\S+)$/m.exec(said)?.[1]);
});

(hasCurl ? test.each : test.skip.each)([
  ['openai', 'openai', '/chat/completions'],
  ['anthropic', 'anthropic', '/messages'],
  ['gemini', 'google', '/chat/completions'],
])('the printed request of %s reaches the provider and the ledger', async (name, publisher, endpoint) => {
  const command =
    new RegExp(`^Request to the real ${name},[^\\n]*\\n\\n((?:.+\\n)+)`, 'm').exec(world.running.system.said)?.[1] ??
    '';
  expect(command).toContain('curl');
  const before = world.providers.asked.length;
  const { status, modelId, chargedUsd } = await paste(command);
  expect({ status, modelId, chargedUsd }).toEqual({
    status: '200',
    modelId: expect.stringMatching(`^${publisher}/`),
    chargedUsd: expect.stringMatching(/[1-9]/),
  });
  const model = modelId.slice(modelId.indexOf('/') + 1);
  expect(world.providers.asked.slice(before)).toEqual([`${name} ${endpoint} ${model}`]);
});

(hasCurl ? test.each : test.skip.each)([
  [
    'azure-openai',
    ['--base-url', '/azure/openai', '--models', 'gpt-6-sol=prod-chat', '--below-cost'],
    'openai/gpt-6-sol',
    'azure /chat/completions prod-chat',
  ],
  [
    'openrouter',
    ['--base-url', '/openrouter/api', '--from', 'provider', '--models', 'acme/small-1', '--markup', '25'],
    'acme/small-1',
    'openrouter /chat/completions acme/small-1',
  ],
])('providers add %s on the demo prints a request that reaches the ledger', async (profile, given, model, asked) => {
  const { url } = world.providers;
  const options = given.map((text) => (text.startsWith('/') ? url + text : text));
  const said = await operator('providers', 'add', profile, ...options, '--apply');
  expect(said).toContain('Enabled: ');
  const [command = ''] = /curl http.*/.exec(said) ?? [];
  const { status, modelId, chargedUsd } = await paste(command.replace('curl ', 'curl -si '));
  expect({ status, modelId, chargedUsd }).toEqual({
    status: '200',
    modelId: model,
    chargedUsd: expect.stringMatching(/[1-9]/),
  });
  expect(world.providers.asked).toContain(asked);
});

test('a start on the state of a running system is refused and changes no file', async () => {
  const names = () => readdirSync(world.state).filter((name) => name.endsWith('.json'));
  const contents = () => names().map((name) => [name, readFileSync(`${world.state}/${name}`, 'utf8')]);
  const before = contents();
  await expect(start(world.state, world.providers.url)).rejects.toThrow(`${world.state}/servers is in use`);
  expect(contents()).toEqual(before);
});

test(
  'a second start prints the same key, user and requests',
  async () => {
    const shown = (said: string) =>
      said
        .split('\n')
        .filter((line) => /^(demo (sign-in|API key)|Request to the real )/.test(line) || line.startsWith("  -d '"));
    const first = world.running.system;
    await stop(first.child);
    world.running.system = await start(world.state, world.providers.url);
    expect(shown(world.running.system.said)).toEqual(shown(first.said));
    expect(running().demoApiKey).not.toBeNull();
  },
  MS_MAX,
);

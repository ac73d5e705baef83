// Runs the runbook commands that change something, exactly as an operator pastes them.
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import type { SourceView } from '@gateway/contracts/operator';
import { sharedSystem } from '../test/system.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const RUNBOOKS = `${ROOT}deploy/observe/runbooks/`;
/** The program of `npm run operator`, started without compiling first. */
const OPERATOR = `${process.execPath} services/dashboard/dist/operator-cli/main.js`;
const COMMANDS_MS = 30_000;
const REFUSED_ADDRESS = 'http://127.0.0.1:9';

/** The expected changes of a source after each command block of a page, in order. */
const PAGES: Readonly<Record<string, readonly Partial<SourceView>[]>> = {
  GatewayCredentialsRefused: [
    { hasCredential: false, credentialOf: 'provider' },
    { hasCredential: true, credentialOf: 'source' },
  ],
  GatewaySourcesFailing: [{ enabled: false }],
};

const blocks = readdirSync(RUNBOOKS).flatMap((file) =>
  [...readFileSync(RUNBOOKS + file, 'utf8').matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, commands = ''], at) => ({
    page: file.replace(/\.md$/, ''),
    at,
    commands,
  })),
);

const tools = spawnSync('bash', ['-c', 'command -v jq'], { stdio: 'ignore' }).status === 0 ? test : test.skip;

test('every command block is tested, and no page mentions a PUT outside a block', () => {
  const known = Object.entries(PAGES).flatMap(([page, afters]) => afters.map((_, at) => `${page} ${at}`));
  expect(blocks.map(({ page, at }) => `${page} ${at}`).sort()).toEqual(known.sort());
  for (const file of readdirSync(RUNBOOKS)) {
    const rest = readFileSync(RUNBOOKS + file, 'utf8').replace(/^```sh\n[\s\S]*?^```/gm, '');
    // A PUT replaces the whole object, so a page must give the complete command.
    expect([file, /\bPUT\b/.test(rest)]).toEqual([file, false]);
  }
});

tools.each(blocks)(
  '$page: block $at makes only the expected change (needs bash and jq)',
  async ({ page, at, commands }) => {
    const system = sharedSystem();
    const { operator } = system;
    const providerId = `runbook-${page.toLowerCase()}-${at}`;
    await operator.must('PUT', `/providers/${providerId}`, { name: page, format: 'openai' });
    const own = { providerId, credential: null, priority: 7, weight: 3 };
    const [source = ''] = (await operator.model(null, [REFUSED_ADDRESS], own)).sources;
    const before = await operator.must<SourceView>('GET', `/sources/${source}`);
    expect(before).toMatchObject({ enabled: true, hasCredential: false, credentialOf: null });
    const script = commands
      .replaceAll('<source>', source)
      .replaceAll('<provider>', providerId)
      .replaceAll('npm run -s operator --', OPERATOR);
    const { status, stderr } = spawnSync('bash', ['--norc', '-eo', 'pipefail', '-c', script], {
      cwd: ROOT,
      input: 'the-new-credential\n',
      env: {
        PATH: process.env['PATH'],
        GATEWAY_OPERATOR_URL: system.operatorUrl,
        GATEWAY_OPERATOR_TOKEN: system.operatorToken,
      },
      encoding: 'utf8',
      timeout: COMMANDS_MS,
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: expect.any(String) });
    expect(await operator.must('GET', `/sources/${source}`)).toEqual({ ...before, ...PAGES[page]?.[at] });
  },
  60_000,
);

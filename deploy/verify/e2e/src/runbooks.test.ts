// The commands of the runbooks that change something, as whoever is called at night pastes them.
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import type { SourceView } from '@gateway/contracts/operator';
import { sharedSystem } from '../test/system.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const RUNBOOKS = `${ROOT}deploy/observe/runbooks/`;
/** The program of `npm run operator`, without compiling again. */
const OPERATOR = `${process.execPath} services/dashboard/dist/operator-cli/main.js`;
const COMMANDS_MS = 30_000;
const REFUSED_ADDRESS = 'http://127.0.0.1:9';

/** What a source is before, and what the page makes of it. */
const PAGES: Readonly<Record<string, { before: Partial<SourceView>; after: Partial<SourceView> }>> = {
  GatewayCredentialsRefused: {
    before: { hasCredential: false },
    after: { credentialOf: 'source', hasCredential: true },
  },
  GatewaySourcesFailing: { before: { enabled: true }, after: { enabled: false } },
};

const blocks = readdirSync(RUNBOOKS).flatMap((file) =>
  [...readFileSync(RUNBOOKS + file, 'utf8').matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, commands = '']) => ({
    page: file.replace(/\.md$/, ''),
    commands,
  })),
);

const tools = spawnSync('bash', ['-c', 'command -v jq'], { stdio: 'ignore' }).status === 0 ? test : test.skip;

test('every block of commands is run here, and no page asks for a PUT without one', () => {
  expect(blocks.map(({ page }) => page).sort()).toEqual(Object.keys(PAGES).sort());
  for (const file of readdirSync(RUNBOOKS)) {
    const rest = readFileSync(RUNBOOKS + file, 'utf8').replace(/^```sh\n[\s\S]*?^```/gm, '');
    // A PUT replaces the whole object: words alone leave out what else belongs into it.
    expect([file, /\bPUT\b/.test(rest)]).toEqual([file, false]);
  }
});

tools.each(blocks)(
  '$page does what it says, and nothing else (needs bash and jq)',
  async ({ page, commands }) => {
    const system = sharedSystem();
    const { operator } = system;
    const model = await operator.model(null, [REFUSED_ADDRESS], { credential: null, priority: 7, weight: 3 });
    const path = `/sources/${model.sources[0]}`;
    const before = await operator.must<SourceView>('GET', path);
    expect(before).toMatchObject(PAGES[page]?.before ?? {});
    const script = commands.replaceAll('<id>', model.sources[0] ?? '').replaceAll('npm run -s operator --', OPERATOR);
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
    expect(await operator.must('GET', path)).toEqual({ ...before, ...PAGES[page]?.after });
  },
  60_000,
);

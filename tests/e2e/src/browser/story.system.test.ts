// Runs a user's story in a real browser on the whole system, from sign-up to a revoked key, and
// then other pages that need real services instead of fixtures.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, jest, test as jestTest } from '@jest/globals';
import { NO_CHROMIUM, findChromium, launchBrowser, openPage } from '@gateway/dashboard-web/fixtures';
import type { WatchedPage } from '@gateway/dashboard-web/fixtures';
import { connectBus } from '@gateway/bus';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { callsRefused } from '@gateway/contracts/messages';
import { startProviderSimulator } from '@gateway/provider-simulator';
import type { ProviderSimulator } from '@gateway/provider-simulator';
import { until } from '@gateway/testkit';
import { chat, get } from '../../test/call.js';
import { readEmailedLink } from '../../test/mailed-link.js';
import type { TestModel } from '../../test/operator.js';
import { sharedSystem } from '../../test/system.js';
import type { SharedSystem } from '../../test/system.js';

const chromium = findChromium();
if (chromium === null) console.warn(`The tests in a browser are skipped. ${NO_CHROMIUM}`);
const test = chromium === null ? jestTest.skip : jestTest;
/**
 * Long, so that a busy machine does not fail the tests. Each wait has its own timeout and error.
 */
jest.setTimeout(180_000);

const PRICES = {
  inputPerMillion: '2.50',
  cachedInputPerMillion: '1.25',
  outputPerMillion: '10.00',
  perCall: '0.000000007',
};
const USAGE = { input: 1_234, cachedInput: 34, cacheWrite: 0, output: 567 };
/** (1,200 × 2.50 + 34 × 1.25 + 567 × 10.00) ÷ 1,000,000 + 0.000000007. */
const COST = '$0.008712507';
const PASSWORD = 'a gate in the harbour';
const LIST_MS_MAX = 30_000;

let system: SharedSystem;
let simulator: ProviderSimulator;
let model: TestModel;
let watched: WatchedPage;
let close: () => Promise<void>;
let account: string;
const email = `story-${randomBytes(6).toString('hex')}@example.com`;

beforeAll(async () => {
  if (chromium === null) return;
  system = sharedSystem();
  simulator = await startProviderSimulator();
  model = await system.operator.model(PRICES, [simulator.urls[0]]);
  const browser = await launchBrowser(chromium);
  watched = await openPage(browser, { baseUrl: system.dashboardUrl });
  close = async () => {
    await browser.close();
    await simulator.close();
  };
});
afterAll(async () => {
  await close?.();
});

const button = (name: string | RegExp) => watched.page.getByRole('button', { name, exact: typeof name === 'string' });
const see = (text: string | RegExp) => watched.page.getByText(text).filter({ visible: true }).first().waitFor();
const dialog = () => watched.page.getByRole('dialog');
const call = (secret: string) =>
  chat(`${system.chatBaseUrl}/chat/completions`, secret, { model: model.id, messages: [] });

interface Ran {
  readonly status: number | string | null;
  readonly output: string;
  readonly complained: string;
}

/**
 * Runs a program with a key in its environment. It must not block this process, because the
 * provider runs in it.
 */
function run(program: string, args: readonly string[], secret: string): Promise<Ran> {
  const env = { ...process.env, GATEWAY_API_KEY: secret };
  return new Promise((resolve) => {
    execFile(program, args, { env, timeout: 60_000 }, (error, output, complained) =>
      resolve({ status: error === null ? 0 : (error.code ?? error.signal ?? null), output, complained }),
    );
  });
}

async function createKey(name: string): Promise<string> {
  const { page } = watched;
  await page.goto('/keys?create');
  await dialog().getByLabel('Name', { exact: false }).fill(name);
  await dialog().getByRole('button', { name: 'Create key' }).click();
  return takeSecret();
}

/**
 * Selects the story's model. It waits for the list of models first, because the page then replaces
 * the input with a default.
 */
async function chooseModel(label: string): Promise<void> {
  const box = watched.page.getByRole('combobox', { name: label });
  await until('the models are loaded', async () => (await box.inputValue()) !== '', LIST_MS_MAX);
  await box.fill(model.id);
  await watched.page.getByRole('option', { name: model.id }).click();
}

/** Returns the secret that a dialog shows, and closes the dialog. */
async function takeSecret(): Promise<string> {
  const { page } = watched;
  await see('Copy it now');
  const secret = (await page.locator('.copy-line code').textContent()) ?? '';
  await page.getByLabel('I have stored the secret').check();
  await button('Done').click();
  await dialog().waitFor({ state: 'detached' });
  return secret;
}

test('a user signs up, verifies the email, signs in, and needs funds to create a key', async () => {
  const { page } = watched;
  await page.goto('/sign-up');
  await page.getByLabel('Name').fill('Story');
  await page.getByLabel('Email address').fill(email);
  await button('Create account').click();
  await see('Check your email');
  const link = await readEmailedLink(email, '/verify');
  await page.goto(link);
  await page.getByLabel('New password').fill(PASSWORD);
  await button('Verify and sign in').click();
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  expect(page.url()).toBe(`${system.dashboardUrl}/`);
  await page.goto('/forgot');
  await page.goto(link);
  await page.getByLabel('New password').fill(PASSWORD);
  await button('Verify and sign in').click();
  await see('This link no longer works');
  await button('Send a new link').waitFor();
  await page.goto('/sign-in?next=/keys');
  await page.getByLabel('Email address').fill(email);
  await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
  await button('Sign in').click();
  await see('The account has no funds');
  const session = (await (await page.request.get('/api/session')).json()) as { accounts: { id: string }[] };
  account = session.accounts[0]?.id ?? '';
  await system.operator.credit(account, '5.00');
});

test('a key is created, used, rotated and revoked, and its request has the exact cost', async () => {
  const { page } = watched;
  const first = await createKey('laptop');
  const upstream = `up-${model.id.slice('test/'.length)}`;
  simulator.script({ model: upstream, times: 2, steps: [{ usage: USAGE }] });
  const { status, requestId } = await chat(`${system.chatBaseUrl}/chat/completions`, first, {
    model: model.id,
    messages: [{ role: 'user', content: 'Hello' }],
  });
  expect(status).toBe(200);
  await system.operator.record(requestId);
  await page.goto(`/usage?request=${requestId}`);
  await dialog().getByText(COST).first().waitFor();
  await see('Tokens reported by the provider');
  await page.goto('/usage');
  await page.getByRole('table').getByText(COST).waitFor();
  await page.goto('/');
  await see('$4.99');

  await page.goto('/keys');
  await button('Actions of laptop').click();
  await page.getByRole('menuitem', { name: 'Rotate secret' }).click();
  await dialog().getByRole('button', { name: 'Rotate secret' }).click();
  const second = await takeSecret();
  const refused = await call(first);
  expect([refused.status, refused.text]).toEqual([401, expect.stringContaining('invalid_api_key')]);
  expect((await get(`${system.chatBaseUrl}/models`, second)).status).toBe(200);

  await button('Actions of laptop').click();
  await page.getByRole('menuitem', { name: 'Revoke' }).click();
  await page.getByLabel(/to confirm/).fill('laptop');
  await dialog().getByRole('button', { name: 'Revoke key' }).click();
  await see(/In force since/);
  const revoked = await call(second);
  expect([revoked.status, revoked.text]).toEqual([403, expect.stringContaining('key_inactive')]);
  await button('Done').click();
});

test('the usage page finds a refused request by its ID and shows the reason', async () => {
  const { page } = watched;
  const requestId = makeUuidV7(Date.now());
  // The test publishes the message of an admission replica itself, to check the path from the bus
  // to the page.
  const bus = await connectBus({
    url: system.natsUrlOf('admission'),
    service: 'admission',
    replica: 'story',
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
  });
  try {
    const minute = Math.floor(Date.now() / 60_000) * 60_000;
    const rows = [{ account, code: 'model_not_found', count: 1, lastIds: [requestId] }];
    bus.publish(callsRefused, {}, { from: 'story', minute, rows });
    await until('the refusal is known', async () => {
      const found = await page.request.get(`/api/accounts/${account}/usage-records/${requestId}`);
      return found.ok();
    });
  } finally {
    await bus.drain(1_000);
  }
  await page.goto(`/usage?request=${requestId}`);
  await see('Refused: Unknown model');
  await page.goto('/');
  await page.getByRole('rowheader', { name: /model_not_found/ }).waitFor();
});

test('the playground streams a response and shows its cost', async () => {
  const { page } = watched;
  await page.goto('/playground');
  await chooseModel('Model');
  const message = page.getByRole('textbox', { name: 'Message' });
  await message.fill('Hello harbour');
  await message.press('Enter');
  await see(/\d in, \d+ out/);
  await see(/^\$0\.\d{6,9}$/);
});

test('the quick start snippets get a response if their tool is installed', async () => {
  const { page } = watched;
  const secret = await createKey('snippets');
  await page.goto('/quick-start');
  await chooseModel('Model of the snippets');
  const snippet = async (tab: string): Promise<string> => {
    await page.getByRole('tab', { name: tab, exact: true }).click();
    return (await page.getByLabel(`${tab} snippet`, { exact: true }).textContent()) ?? '';
  };
  const directory = mkdtempSync(fileURLToPath(new URL('../../.snippets-', import.meta.url)));
  const runs: Record<string, Ran> = {};
  try {
    writeFileSync(`${directory}/snippet.mjs`, await snippet('JavaScript'));
    runs['JavaScript'] = await run(process.execPath, [`${directory}/snippet.mjs`], secret);
    const curl = await snippet('curl');
    if ((await run('curl', ['--version'], secret)).status === 0) runs['curl'] = await run('sh', ['-c', curl], secret);
    const python = await snippet('Python');
    // If the client library is not installed, the snippet is only parsed.
    const hasPython = (await run('python3', ['-c', 'import openai'], secret)).status === 0;
    const reads = ['-c', 'import ast, sys; print(ast.parse(sys.argv[1]))', python];
    const isThere = (await run('python3', ['--version'], secret)).status === 0;
    if (isThere) runs['Python'] = await run('python3', hasPython ? ['-c', python] : reads, secret);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  for (const [tool, { status, output, complained }] of Object.entries(runs)) {
    expect({ tool, status, complained: status === 0 ? '' : complained }).toEqual({ tool, status: 0, complained: '' });
    expect(output).toMatch(tool === 'curl' ? /"choices"/ : /\S/);
  }
});

test('billing and operator pages load, and an operator suspends and reinstates', async () => {
  const { page } = watched;
  await page.goto('/billing?tab=ledger');
  await see('Funds added');
  await page.goto('/billing?tab=statements');
  await see('Closing balance');
  await page.goto('/operator/sign-in');
  await page.getByRole('textbox', { name: 'Operator token' }).fill(system.operatorToken);
  await button('Sign in').click();
  await page.getByLabel('Search accounts').fill(email);
  await page.getByRole('region', { name: 'Found accounts' }).getByRole('link', { name: 'Story' }).click();
  await button('Suspend').click();
  await button('Suspend account').click();
  await button('Reinstate').click();
  await button('Reinstate account').click();
  await button('Suspend').waitFor();
  for (const [name, text] of [
    ['Sources', 'Upstream sources'],
    ['Running requests', /^\d+ requests?/],
    ['Audit log', 'operator:root'],
  ] as const) {
    await page.getByRole('link', { name }).click();
    await see(text);
  }
  await page.getByRole('link', { name: 'Models' }).click();
  await page.getByRole('heading', { name: 'Models', level: 1 }).waitFor();
  // Other suites add models to the system, and the page shows 50.
  await page.getByLabel('Search models').fill(model.id);
  await see(model.id);
});

test('no page had an error or violated the content security policy', () => {
  expect(watched.faults).toEqual([]);
});

import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, jest, test as jestTest } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import {
  NO_CHROMIUM,
  type PageOptions,
  type WatchedPage,
  findChromium,
  launchBrowser,
  openContext,
  openPage,
  seriousFindings,
  watchedPage,
} from '../fixtures/src/browser.js';
import { PASSWORD, type Scenario } from '../fixtures/src/objects.js';
import { type FixtureServer, OPERATOR_TOKEN, startFixtureServer } from '../fixtures/src/server.js';

/** Single waits have shorter timeouts with messages; this one only bounds a busy machine. */
jest.setTimeout(120_000);

/** In pixels: four lines of text in the tallest cells. */
const TALLEST_ROW = 104;

const chromium = findChromium();
if (chromium === null) console.warn(`The tests in a browser are skipped. ${NO_CHROMIUM}`);
const test = chromium === null ? jestTest.skip : jestTest;

let server: FixtureServer;
let browser: Browser;
/**
 * Context of all pages without special options, so that scripts are not loaded again for each test.
 */
let usual: BrowserContext;
const opened: WatchedPage[] = [];
beforeAll(async () => {
  if (chromium === null) return;
  server = await startFixtureServer(fileURLToPath(new URL('../dist', import.meta.url)));
  browser = await launchBrowser(chromium);
  usual = await openContext(browser, { baseUrl: server.url });
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
});
afterEach(async () => {
  for (const [index, { page, context, faults }] of opened.splice(0).entries()) {
    await takePicture(page, `end-${index}`);
    expect({ path: page.url(), faults }).toEqual({ path: page.url(), faults: [] });
    await (context === usual ? page : context).close();
  }
  expect(server?.reports ?? []).toEqual([]);
});

/** Takes a screenshot for `npm run pictures`. */
async function takePicture(page: Page, name: string): Promise<void> {
  const directory = process.env['GATEWAY_PICTURES'];
  if (directory === undefined || page.isClosed()) return;
  const file = `${expect.getState().currentTestName} ${name}`.replaceAll(/\W+/g, '-');
  await page.screenshot({ path: `${directory}/${file}.png`, fullPage: true });
}

async function open(scenario: Scenario, path: string, options: Partial<PageOptions> = {}): Promise<Page> {
  const watched = await (Object.keys(options).length === 0 ? usualPage(scenario) : ownPage(scenario, options));
  opened.push(watched);
  await watched.page.request.get('/fixture/reset');
  await watched.page.goto(path);
  await watched.page.locator('h1').first().waitFor();
  return watched.page;
}

/**
 * Opens a page in the shared context without its previous session. Closes pages of earlier
 * scenarios.
 */
async function usualPage(scenario: Scenario): Promise<WatchedPage> {
  await Promise.all(usual.pages().map((page) => page.close()));
  await usual.clearCookies();
  await usual.addCookies([{ name: 'fixture', value: scenario, url: server.url }]);
  return watchedPage(usual);
}

function ownPage(scenario: Scenario, options: Partial<PageOptions>): Promise<WatchedPage> {
  return openPage(browser, { baseUrl: server.url, cookies: { fixture: scenario }, ...options });
}

const button = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, exact: typeof name === 'string' });
const see = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor();
const password = (page: Page) => page.getByRole('textbox', { name: 'Password' });
const dialog = (page: Page) => page.getByRole('dialog');
/** Path of the refusals of the last 30 days. */
const refusalsPath = (account: string) => {
  const time = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
  return `/api/accounts/${account}/refusals?from=${time(-30)}&to=${time(1)}`;
};

test('people: sign-up, sign-in, a wrong password, and the return to the requested page', async () => {
  const page = await open('visitor', '/keys');
  await page.waitForURL(/\/sign-in\?next=%2Fkeys/);
  await page.getByLabel('Email address').fill('mara@example.com');
  await password(page).fill('wrong');
  await button(page, 'Sign in').click();
  await page.getByRole('alert').getByText('Email or password is incorrect').waitFor();
  await see(page, 'Request ID');
  await password(page).fill(PASSWORD);
  await button(page, 'Sign in').click();
  await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor();
  await button(page, /Your menu/).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('link', { name: 'Create an account' }).click();
  await page.getByLabel('Name').fill('Mara');
  await page.getByLabel('Email address').fill('mara@example.com');
  await button(page, 'Create account').click();
  await see(page, 'Check your email');
  await button(page, 'Send the email again').click();
  await see(page, 'we sent another email');
});

test('people: an email token leaves the address bar and a used one shows a remedy', async () => {
  const page = await open('visitor', `/verify#token=${'x'.repeat(43)}`);
  await page.getByLabel('New password').fill('a long enough one');
  expect(page.url()).toBe(`${server.url}/verify`);
  await button(page, 'Verify and sign in').click();
  await see(page, 'This link no longer works');
  await page.getByLabel('Email address').fill('mara@example.com');
  await button(page, 'Send a new link').click();
  await see(page, 'we sent another email');
  await page.goto('/sign-in');
  await page.goto(`/verify#token=${'t'.repeat(43)}`);
  await page.getByLabel('New password').fill('a long enough one');
  await button(page, 'Verify and sign in').click();
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  expect(page.url()).toBe(`${server.url}/`);
  await button(page, /Your menu/).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.goto(`/reset#token=${'t'.repeat(43)}`);
  await page.getByLabel('New password').fill('another long one');
  await button(page, 'Set password').click();
  await see(page, 'Password changed');
});

test('people: sign-in opens only own paths and sign-out everywhere asks first', async () => {
  const page = await open('visitor', '/sign-in?next=//evil.example/');
  await page.getByLabel('Email address').fill('mara@example.com');
  await password(page).fill(PASSWORD);
  await button(page, 'Sign in').click();
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  expect(page.url()).toBe(`${server.url}/`);
  await page.goto('/account');
  await button(page, 'Sign out everywhere').click();
  await dialog(page).getByRole('button', { name: 'Sign out everywhere' }).click();
  await page.waitForURL('**/sign-in');
});

test('keys: create, show the secret once, rotate and revoke with warnings', async () => {
  const page = await open('small', '/keys');
  await see(page, '$7.90 of $10.00');
  await button(page, 'Create key').click();
  await see(page, 'Cap and models cannot be changed later');
  await page.getByLabel('Name', { exact: false }).fill('report');
  await page.getByLabel(/Monthly spend cap/).fill('12.5');
  await page.getByText('Only these models').click();
  await page.getByRole('combobox', { name: 'Models' }).click();
  await page.getByRole('option', { name: 'openai/gpt-4o-mini' }).click();
  await page.keyboard.press('Escape');
  await dialog(page).getByRole('button', { name: 'Create key' }).click();
  await see(page, 'Copy it now');
  const secret = (await page.locator('.copy-line code').textContent()) ?? '';
  expect(secret).toMatch(/^mgw_live_[0-9a-f]{48}$/);
  await button(page, 'Copy the secret').click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(secret);
  await see(page, `export GATEWAY_API_KEY=${secret}`);
  await see(page, '"model": "openai/gpt-4o-mini"');
  await page.keyboard.press('Escape');
  await page.getByLabel('I have stored the secret').check();
  await button(page, 'Done').click();
  await dialog(page).waitFor({ state: 'detached' });
  expect(await page.content()).not.toContain(secret);
  await see(page, '$0.00 of $12.50');
  expect(await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]))).not.toContain('mgw_live_');

  await button(page, 'Actions of report').click();
  await page.getByRole('menuitem', { name: 'Rotate secret' }).click();
  await see(page, 'The old secret stops at once');
  await dialog(page).getByRole('button', { name: 'Rotate secret' }).click();
  await see(page, /In force since .* UTC\. The old secret is refused everywhere/);
  expect(await page.locator('.copy-line code').textContent()).not.toBe(secret);
  await page.getByLabel('I have stored the secret').check();
  await button(page, 'Done').click();

  await button(page, 'Actions of report').click();
  await page.getByRole('menuitem', { name: 'Revoke' }).click();
  await see(page, "This can't be undone");
  expect(await dialog(page).getByRole('button', { name: 'Revoke key' }).isDisabled()).toBe(true);
  await page.getByLabel(/to confirm/).fill('report');
  await dialog(page).getByRole('button', { name: 'Revoke key' }).click();
  await see(page, /In force since/);
  await button(page, 'Done').click();
  await page.getByRole('switch', { name: 'Show revoked and expired (2)' }).click();
  await page
    .getByRole('row', { name: /report/ })
    .getByText('Revoked')
    .filter({ visible: true })
    .waitFor();
});

test('keys: a rotated secret is shown even if it is not in force yet', async () => {
  const page = await open('small', '/keys?create');
  await page.getByLabel('Name', { exact: false }).fill('not in force');
  await dialog(page).getByRole('button', { name: 'Create key' }).click();
  await page.getByLabel('I have stored the secret').check();
  await button(page, 'Done').click();
  await button(page, 'Actions of not in force').click();
  await page.getByRole('menuitem', { name: 'Rotate secret' }).click();
  await dialog(page).getByRole('button', { name: 'Rotate secret' }).click();
  await see(page, 'Saved, but not yet in force everywhere');
  expect(await page.locator('.copy-line code').textContent()).toMatch(/^mgw_live_[0-9a-f]{48}$/);
  expect(await dialog(page).getByText('In force since').count()).toBe(0);
  await page.getByLabel('I have stored the secret').check();
  await button(page, 'Done').click();
});

test('keys: each refusal shows the next step', async () => {
  const empty = await open('empty', '/keys');
  await see(empty, 'The account has no funds');
  await empty.getByRole('link', { name: 'Go to billing' }).click();
  await empty.getByRole('heading', { name: 'Add funds' }).waitFor();
  const full = await open('small', '/keys?create');
  await full.getByLabel('Name', { exact: false }).fill('third');
  await dialog(full).getByRole('button', { name: 'Create key' }).click();
  await full.getByLabel('I have stored the secret').check();
  await button(full, 'Done').click();
  await see(full, 'maximum of active keys');
  expect(await button(full, 'Create key').isDisabled()).toBe(true);
});

test('overview: windows, grouped usage, debt and refusals with the next step', async () => {
  const page = await open('large', '/');
  await see(page, '$199.24 of $250.00');
  expect(await page.getByRole('meter', { name: 'Monthly, used' }).getAttribute('aria-valuenow')).toBe('93');
  await page.locator('.recharts-bar-rectangle').first().waitFor();
  await page.getByRole('table').getByText('openai/gpt-4o', { exact: true }).waitFor();
  await page.getByRole('combobox', { name: 'Group by' }).click();
  await page.getByRole('option', { name: 'By member' }).click();
  await page.getByRole('rowheader', { name: 'mara@example.com' }).waitFor();
  await page.getByText('Tokens', { exact: true }).click();
  await page.getByText('24 hours').click();
  await see(page, 'By UTC hour');
  await page.getByText('7 days').click();
  await page
    .getByRole('row', { name: /rate_limited/ })
    .getByRole('cell', { name: '412', exact: true })
    .waitFor();
  await see(page, 'Wait for the next clock minute');
  const owing = await open('owing', '/');
  await see(owing, 'The account owes $3.42');
  await see(owing, 'This dashboard is served without encryption');
});

test('overview: the newest refused requests of a code come first', async () => {
  const page = await open('large', '/');
  const path = refusalsPath('acc_large');
  const { data } = (await (await page.request.get(path)).json()) as {
    data: { code: string; lastRequestIds: string[] }[];
  };
  const ids = data.filter(({ code }) => code === 'rate_limited').flatMap(({ lastRequestIds }) => lastRequestIds);
  // IDs are ordered by time.
  expect(ids).toEqual([...ids].sort().reverse());
  await page.getByText('7 days').click();
  const row = page.getByRole('row', { name: /rate_limited/ });
  await row.getByText('412', { exact: true }).waitFor();
  expect(await row.getByRole('link').filter({ hasText: '-' }).allTextContents()).toEqual(ids.slice(0, 3));
});

test('overview and usage: a member sees own data and no refused actions', async () => {
  const page = await open('member', '/');
  const refused: string[] = [];
  page.on('response', (response) => {
    if (response.status() >= 400) refused.push(response.url());
  });
  await page.reload();
  await page.locator('.recharts-bar-rectangle').first().waitFor();
  await see(page, 'Refused requests');
  await page.getByRole('link', { name: 'Usage' }).click();
  await see(page, '8 requests shown');
  expect(await button(page, 'Export').count()).toBe(0);
  for (const name of ['API keys', 'Playground', 'Models', 'Quick start', 'Profile']) {
    await page.getByRole('link', { name, exact: true }).first().click();
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.locator('.bones').first().waitFor({ state: 'detached' });
  }
  expect(refused).toEqual([]);
  expect(await page.getByRole('alert').count()).toBe(0);
});

test('overview: a new account shows the steps to its first request', async () => {
  const page = await open('empty', '/');
  await page.getByRole('listitem').filter({ hasText: 'Verify your address' }).getByText('done').waitFor();
  await page.getByRole('link', { name: 'How to add funds' }).waitFor();
  await see(page, 'No requests in this time');
  await see(page, 'No refused requests in this time');
});

test('usage: filters in the URL, request details, look-up of an ID, export', async () => {
  const page = await open('large', '/usage');
  await see(page, '50 requests shown');
  await button(page, 'Show more').click();
  await see(page, '100 requests shown');
  await page.getByRole('combobox', { name: 'Any model' }).click();
  await page.getByRole('option', { name: 'openai/o4-mini' }).click();
  await page.waitForURL(/model=openai%2Fo4-mini/);
  await page.getByRole('cell', { name: 'openai/gpt-4o', exact: true }).first().waitFor({ state: 'detached' });
  await button(page, /show request/)
    .first()
    .click();
  await see(page, 'Paid by');
  await see(page, 'Evidence');
  await page.keyboard.press('Escape');
  await dialog(page).waitFor({ state: 'detached' });

  const { data } = (await (await page.request.get(refusalsPath('acc_large'))).json()) as {
    data: { code: string; lastRequestIds: string[] }[];
  };
  const refused = data.find(({ code }) => code === 'rate_limited')?.lastRequestIds[0] ?? '';
  await page.getByRole('textbox', { name: 'Look up a request ID' }).fill(refused);
  await button(page, 'Look up').click();
  await see(page, 'Refused: Requests per minute reached');
  await page.goto('/usage');
  await page.getByRole('textbox', { name: 'Look up a request ID' }).fill('nobody');
  await button(page, 'Look up').click();
  await see(page, 'Not found');
  await page.keyboard.press('Escape');

  await button(page, 'Export').click();
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    dialog(page).getByRole('button', { name: 'Export' }).click(),
  ]);
  expect(file.suggestedFilename()).toMatch(/^usage-records-\d{4}-\d\d-\d\d\.csv$/);
  await see(page, /2,000 records, \d/);
});

test('billing: ledger, statement, webhook with its secret once, error at its field', async () => {
  const page = await open('small', '/billing');
  await see(page, '$24.68');
  await page.getByRole('tab', { name: 'Ledger' }).click();
  await see(page, 'Funds added');
  await page.getByRole('tab', { name: 'Statements' }).click();
  await see(page, 'Closing balance');
  await page.getByRole('tab', { name: 'Alerts' }).click();
  await see(page, 'Cap of key nightly-summaries');
  await page.getByLabel('Address').fill('http://example.com/hook');
  await button(page, 'Add webhook').click();
  await see(page, 'must be an https address');
  await page.getByLabel('Address').fill('https://example.com/hook');
  await button(page, 'Add webhook').click();
  await see(page, /whsec_[\w+/]{43}=/);
  await button(page, 'Done').click();
  await see(page, 'No deliveries yet');
  await button(page, 'Remove').click();
  await dialog(page).getByRole('button', { name: 'Remove' }).click();
  await button(page, 'Add webhook').waitFor();
  const large = await open('large', '/billing?tab=alerts');
  await see(large, 'Failed');
});

test('models and quick start: prices, usability, snippets with the own addresses', async () => {
  const empty = await open('empty', '/models');
  await empty
    .getByRole('row', { name: /Mistral Large/ })
    .getByText('Needs funds')
    .waitFor();
  const page = await open('small', '/models');
  await see(page, 'No price, so it cannot be used');
  await see(page, 'above 200K input tokens');
  await page.getByLabel('Search models').fill('haiku');
  await page.getByRole('row', { name: /Llama/ }).waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Quick start' }).click();
  await see(page, 'https://gateway.example/v1/chat/completions');
  await page.getByRole('tab', { name: 'Python' }).click();
  await see(page, 'base_url="https://gateway.example/v1"');
  await page.getByRole('tab', { name: 'Claude Code' }).waitFor();
  await see(page, 'ANTHROPIC_BASE_URL=https://gateway.example');
});

test('playground: streams, shows the cost, stops, and shows a refusal', async () => {
  const page = await open('small', '/playground');
  const message = page.getByRole('textbox', { name: 'Message' });
  await message.fill('hello');
  await message.press('Enter');
  await see(page, 'You said: hello');
  await see(page, /12 in, \d+ out/);
  await message.fill('long');
  await button(page, 'Send').click();
  await see(page, 'You said: long');
  await button(page, 'Stop').click();
  await see(page, 'Stopped');
  await message.fill('refuse');
  await button(page, 'Send').click();
  await page.getByRole('alert').getByText('The playground has reached its 10 requests per minute').waitFor();
});

test('team: invite, change, remove; a personal account explains why it has none', async () => {
  const page = await open('large', '/team');
  await button(page, 'Invite').click();
  await dialog(page).getByLabel('Email address').fill('new@example.com');
  await dialog(page)
    .getByLabel(/Monthly spend cap/)
    .fill('20');
  await button(page, 'Send invitation').click();
  const row = page.getByRole('row', { name: /new@example\.com/ });
  await row.getByText('$20.00').waitFor();
  await row.getByRole('button').click();
  await page.getByRole('menuitem', { name: 'Remove' }).click();
  await see(page, 'can no longer see the account');
  await button(page, 'Remove member').click();
  await row.waitFor({ state: 'detached' });
  // The last member of the second page, whose active keys prevent removal.
  await button(page, 'Actions of diego@example.com').click();
  await page.getByRole('menuitem', { name: 'Remove' }).click();
  await see(page, /Revoke .* keys? of this member first/);
  await button(page, 'Remove member').click();
  await dialog(page).getByRole('alert').getByText('This is still in use').waitFor();
  await button(page, 'Cancel').click();
  const personal = await open('small', '/team');
  await see(personal, 'This is not a team account');
});

test('operator: sign in, find, credit and suspend an account, see sources and slots', async () => {
  const page = await open('large', '/operator/sign-in');
  await page.getByLabel('Operator token').fill(OPERATOR_TOKEN);
  await button(page, 'Sign in').click();
  await page.getByLabel('Search accounts').fill('okafor');
  await see(page, 'Found');
  await page.getByRole('link', { name: 'Okafor Research', exact: true }).click();
  await button(page, 'Add funds').click();
  await dialog(page).getByLabel('Amount in USD').fill('ten');
  await dialog(page).getByLabel('Reason').fill('Invoice 1');
  await button(page, 'Add entry').click();
  await see(page, 'a decimal string of USD');
  await dialog(page).getByLabel('Amount in USD').fill('10');
  await button(page, 'Add entry').click();
  await see(page, '$1,214.50');
  await button(page, 'Suspend').click();
  await button(page, 'Suspend account').click();
  await button(page, 'Reinstate').waitFor();
  await page.getByRole('link', { name: 'Sources' }).click();
  // The second source is beyond the first page of health.
  await page.getByText('Breaker open').nth(1).waitFor();
  await page.getByRole('link', { name: 'Running requests' }).click();
  await see(page, 'No heartbeat');
  await page.getByRole('link', { name: 'Audit log' }).click();
  await button(page, /show entry/)
    .first()
    .click();
  await dialog(page).getByText('203.0.113.0/24').waitFor();
});

test('operator: finds models by a part of the name or ID, also beyond the first page', async () => {
  const page = await open('large', '/operator/models');
  await button(page, 'Show more').waitFor();
  const search = page.getByLabel('Search models');
  const found = page.getByRole('region', { name: 'Found models' });
  await search.fill('EMBEDDING 3');
  await found.getByText('openai/text-embedding-3-small').waitFor();
  expect(await found.getByRole('row').count()).toBe(2);
  await search.fill('demo/');
  await found.getByText('A model without a price').waitFor();
  await takePicture(page, 'found');
  await search.fill('no such model');
  await see(page, 'No models match');
  await search.fill('');
  await button(page, 'Show more').waitFor();
});

test('operator: adds an alias, corrects its model, and deletes it', async () => {
  const page = await open('large', '/operator/models');
  await page.getByLabel('Alias name').fill('my alias');
  await see(page, 'Letters, digits and');
  await page.getByLabel('Alias name').fill('team/best@latest');
  await page.getByLabel('Catalog ID').fill('openai/none');
  await button(page, 'Add alias').click();
  await page.getByRole('alert').waitFor();
  await page.getByLabel('Catalog ID').fill('openai/gpt-4o');
  await button(page, 'Add alias').click();
  const row = page.getByRole('row', { name: /team\/best@latest/ });
  await row.getByText('openai/gpt-4o', { exact: true }).waitFor();
  await button(page, 'Delete alias team/best@latest').click();
  await dialog(page).getByRole('button', { name: 'Delete alias' }).click();
  await row.waitFor({ state: 'detached' });
});

test('operator: the audit log filters by kind and account and shows each origin', async () => {
  const page = await open('large', '/operator/audit');
  const rows = page.getByRole('table').locator('tbody tr');
  const actions = async () => new Set(await rows.locator('th > div:first-child').allTextContents());
  await page.getByText('Refused', { exact: true }).click();
  await page.waitForURL(/kind=refused/);
  await page.getByText('Create key').first().waitFor({ state: 'detached' });
  expect(await actions()).toEqual(new Set(['Sign in']));
  await page.getByText('Changes', { exact: true }).click();
  await see(page, 'Put source');
  expect(await actions()).toEqual(new Set(['Create key', 'Add wallet entry', 'Put source', 'Revoke key']));
  const from = rows.first().locator('td').last();
  expect(await from.innerText()).toMatch(/^203\.0\.113\.0\/24\nMozilla.*\nrequest [0-9a-f-]{10}…[0-9a-f-]{6}$/);
  await page.getByRole('combobox', { name: 'Filter by account' }).fill('acc_large');
  await page.getByRole('option', { name: /acc_large|Harbour/ }).click();
  await page.waitForURL(/account=acc_large/);
  await page
    .getByRole('link', { name: /^acc_01/ })
    .first()
    .waitFor({ state: 'detached' });
  expect(new Set(await rows.locator('td:nth-child(4)').allTextContents())).toEqual(new Set(['acc_large']));
  await button(page, /show entry/)
    .first()
    .click();
  await see(page, 'Request ID');
  await page.goto('/operator/accounts/acc_large');
  await page.locator('.page-head').getByRole('link', { name: 'Audit log' }).click();
  await page.waitForURL(/audit\?account=acc_large/);
});

test.each([1_280, 390])('tables of operators and keys need no scrolling or tall rows at %i pixels', async (width) => {
  const page = await open('large', '/operator', { width });
  const found: Record<string, unknown> = {};
  await visit(page, [...OPERATOR_PAGES, '/keys'], async (path) => {
    const over = await page
      .locator('.table-wrap')
      .evaluateAll((all) => all.map((one) => one.scrollWidth - one.clientWidth));
    const tall = await page
      .locator('table.data tbody tr')
      .evaluateAll(
        (rows, height) => rows.filter((row) => row.getBoundingClientRect().height > height).length,
        TALLEST_ROW,
      );
    if (Math.max(0, ...over) > 0 || tall > 0) found[path] = { over, tall };
  });
  expect(found).toEqual({});
});

test('a key can be rotated on a phone', async () => {
  const page = await open('large', '/keys', { width: 390 });
  const menu = button(page, 'Actions of ci');
  await menu.scrollIntoViewIfNeeded();
  const box = await menu.boundingBox();
  expect((box?.x ?? 0) + (box?.width ?? 999)).toBeLessThanOrEqual(390);
  expect(box?.width).toBeGreaterThanOrEqual(32);
  await menu.click();
  await page.getByRole('menuitem', { name: 'Rotate secret' }).click();
  await see(page, 'The old secret stops at once');
});

test('overview: failed requests have a separate figure with a link to them', async () => {
  const page = await open('large', '/');
  await page.locator('.recharts-bar-rectangle').first().waitFor();
  const day = 86_400_000;
  const span = `from=${new Date(Date.now() - 40 * day).toISOString()}&to=${new Date(Date.now() + day).toISOString()}`;
  const path = `/api/accounts/acc_large/usage-series?${span}&by=day&groupBy=none`;
  const { unbilled } = (await (await page.request.get(path)).json()) as { unbilled: { voided: number } };
  expect(unbilled.voided).toBeGreaterThan(0);
  const figure = page.locator('.totals > div').filter({ hasText: 'Failed requests' });
  expect(Number(await figure.locator('dd').innerText())).toBeGreaterThan(0);
  await figure.getByRole('link').click();
  await page.waitForURL(/usage\?outcome=voided/);
  await page.getByRole('table').getByText('Failed').first().waitFor();
  expect(await page.getByRole('table').getByText('Billed', { exact: true }).count()).toBe(0);
});

test('quick start suggests no model whose provider does not respond', async () => {
  const page = await open('small', '/models');
  await page
    .getByRole('row', { name: /openai\/gpt-4o-mini/ })
    .getByText('Failing now')
    .waitFor();
  await page.goto('/quick-start');
  await see(page, '"model": "meta/llama-3.3-70b-instruct"');
});

test('an error shows its request ID and a retry; times are UTC with local on hover', async () => {
  const page = await open('small', '/keys');
  server.failNext('catalog.list-models', 'not_found', 'There is no such account.');
  await page.getByRole('link', { name: 'Models' }).click();
  const alert = page.getByRole('alert');
  await alert.getByText('There is no such account.').waitFor();
  expect(await alert.locator('code').textContent()).toMatch(/^[0-9a-f-]{36}$/);
  await alert.getByRole('button', { name: 'Try again' }).click();
  await see(page, 'Claude Sonnet 4.5');
  await page.getByRole('link', { name: 'Usage' }).click();
  await see(page, 'Time (UTC)');
  const time = page.locator('table time').first();
  expect(await time.getAttribute('title')).toMatch(/ UTC — .* your time$/);
});

test('keyboard: skip the navigation, open a dialogue, return to the same place', async () => {
  const page = await open('small', '/keys');
  await page.keyboard.press('Tab');
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to content');
  await page.keyboard.press('Enter');
  await button(page, 'Create key').focus();
  await page.keyboard.press('Enter');
  await dialog(page).waitFor();
  await page.waitForFunction(() => document.activeElement?.tagName === 'INPUT');
  await page.keyboard.press('Escape');
  await dialog(page).waitFor({ state: 'detached' });
  await page.waitForFunction(() => document.activeElement?.textContent?.includes('Create key') === true);
});

test('states: failing sources, last refusal, unopened session, disabled models', async () => {
  const page = await open('large', '/');
  await see(page, 'Starts with the next request');
  await page.getByText('7 days').click();
  const row = page.getByRole('row', { name: /rate_limited/ });
  await row.getByText('412', { exact: true }).waitFor();
  const path = refusalsPath('acc_large');
  const { data } = (await (await page.request.get(path)).json()) as { data: { code: string; lastAt: string }[] };
  const newest = data.find(({ code }) => code === 'rate_limited')?.lastAt;
  expect(await row.locator('time').getAttribute('datetime')).toBe(newest);
  await page.getByText('Tokens', { exact: true }).click();
  await page.getByRole('columnheader', { name: 'Share of tokens' }).waitFor();
  await page.getByText('Requests', { exact: true }).first().click();
  await page.getByRole('columnheader', { name: 'Share of requests' }).waitFor();

  await page.goto('/models');
  const off = page.getByRole('row', { name: /Qwen3 32B/ });
  await off.getByText('Not available').waitFor();
  expect(await off.getByText('Add funds').count()).toBe(0);
  const { data: models } = (await (await page.request.get('/api/accounts/acc_large/models')).json()) as {
    data: { id: string; available: boolean }[];
  };
  expect(models.filter(({ available }) => !available).map(({ id }) => id)).toEqual(['qwen/qwen3-32b']);

  await page.goto('/operator/sources');
  await see(page, 'Failing');
  await see(page, /last unreachable/);
  const failing = page.getByRole('row', { name: /last unreachable/ }).first();
  await failing.getByText('100 %').waitFor();
  await page.getByText('of 1,280').first().waitFor();
  await page.getByText('420 ms').first().waitFor();
});

test('texts about debts, windows and the playground are accurate', async () => {
  const owing = await open('owing', '/');
  await see(owing, 'The wallet balance is negative');
  expect(await owing.getByText('Requests cost more than the wallet held').count()).toBe(0);
  const words = owing.locator('.notice.bad .notice-words').first();
  // A code within a sentence is part of its line.
  expect(await words.evaluate((box) => getComputedStyle(box).display)).toBe('block');
  await owing.goto('/billing');
  await owing.getByText('402 outstanding_debt').waitFor();
  const page = await open('large', '/billing');
  await see(page, 'The wallet does not pay for them');
  await page.goto('/playground');
  await page.getByRole('textbox', { name: 'Message' }).fill('refuse');
  await button(page, 'Send').click();
  const alert = page.getByRole('alert');
  await alert.getByText('The playground has reached its 10 requests per minute').waitFor();
  expect(await alert.getByText(/More keys|This key/).count()).toBe(0);
});

test('ledger: entries without requests are found beyond many pages of requests', async () => {
  const page = await open('large', '/billing?tab=ledger');
  await button(page, 'Show more').waitFor();
  await page.getByText('Without requests').click();
  const row = page.getByRole('row', { name: /Funds added/ });
  await row.getByText('INV-2026-0117').waitFor();
  await row.getByText('Invoice paid by bank transfer').filter({ visible: true }).waitFor();
  await see(page, '1 entry shown');
});

test('statement: one precision per table, so that rows add up to the total', async () => {
  const page = await open('small', '/billing?tab=statements');
  const table = page.getByRole('table').nth(1);
  await table.waitFor();
  const amounts = await table.locator('tbody td.right:last-child').allTextContents();
  expect(amounts.length).toBeGreaterThan(1);
  expect(new Set(amounts.filter((text) => text !== '$0.00').map((text) => text.split('.')[1]?.length)).size).toBe(1);
  const nano = (text: string) =>
    BigInt(text.replace(/[^0-9.]/g, '').replace(/\.(\d+)$/, (_, places: string) => places.padEnd(9, '0')));
  const { usage } = (await (
    await page.request.get(`/api/accounts/acc_small/statement?month=${new Date().toISOString().slice(0, 7)}`)
  ).json()) as { usage: { chargedUsd: string } };
  expect(amounts.reduce((sum, text) => sum + nano(text), 0n)).toBe(
    nano(`${usage.chargedUsd}${usage.chargedUsd.includes('.') ? '' : '.0'}`),
  );
});

const ACCOUNT_PAGES = [
  '/',
  '/keys',
  '/usage',
  '/billing',
  '/billing?tab=ledger',
  '/billing?tab=statements',
  '/billing?tab=alerts',
];
const OTHER_PAGES = ['/models', '/quick-start', '/playground', '/team', '/account'];
const OPERATOR_PAGES = ['/operator', '/operator/models', '/operator/sources', '/operator/slots', '/operator/audit'];
const SIGN_IN_PAGES = ['/sign-in', '/sign-up', '/forgot', `/reset#token=${'t'.repeat(43)}`, '/operator/sign-in'];

/** Opens pages one after the other and waits until each shows its data. */
async function visit(page: Page, paths: readonly string[], look: (path: string) => Promise<void>): Promise<void> {
  for (const path of paths) {
    await page.goto(path);
    await page.locator('h1').first().waitFor();
    await page.locator('.bones').first().waitFor({ state: 'detached' });
    await look(path);
    await takePicture(page, path);
  }
}

/**
 * Returns how many pixels a page is wider than its window, after charts and tables have adapted.
 */
async function overflow(page: Page): Promise<number> {
  const fits = () => document.documentElement.scrollWidth <= window.innerWidth;
  await page.waitForFunction(fits, null, { timeout: 10_000 }).catch(() => undefined);
  return page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
}

test('all pages: hostile texts never run, axe passes, and a phone shows everything', async () => {
  const page = await open('hostile', '/');
  const found: Record<string, unknown> = {};
  await visit(page, [...ACCOUNT_PAGES, ...OTHER_PAGES, ...OPERATOR_PAGES], async (path) => {
    const findings = await seriousFindings(page);
    const images = await page.locator('img[src="x"]').count();
    await page.setViewportSize({ width: 390, height: 844 });
    const over = await overflow(page);
    await page.setViewportSize({ width: 1280, height: 900 });
    if (findings.length > 0 || images > 0 || over > 0) found[path] = { findings, images, over };
  });
  expect(found).toEqual({});
  await page.goto('/keys');
  await see(page, '<img src=x onerror=alert(1)>');
});

test.each([
  ['dark', 'small', ['/', '/keys', '/usage', '/billing', '/quick-start', '/operator/sources']],
  ['light', 'visitor', SIGN_IN_PAGES],
  ['light', 'empty', ['/', '/keys', '/usage']],
] as const)('axe finds nothing serious: %s, %s', async (scheme, scenario, paths) => {
  const page = await open(scenario, '/', { scheme });
  const found: Record<string, string[]> = {};
  await visit(page, paths, async (path) => {
    const findings = await seriousFindings(page);
    if (findings.length > 0) found[path] = findings;
  });
  expect(found).toEqual({});
});

test('on a phone the navigation opens and closes', async () => {
  const page = await open('small', '/', { width: 390 });
  await button(page, 'Open the navigation').click();
  await dialog(page).getByRole('link', { name: 'API keys' }).click();
  await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor();
  await dialog(page).waitFor({ state: 'detached' });
});

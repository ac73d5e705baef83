// `npm run pictures -w services/dashboard/web`: takes screenshots of every page with fixtures, at
// three widths, light and dark, empty, small and with 50,000 requests, in `.cache/pictures`.
// `--only keys,usage`, `--widths 390`, `--schemes dark` and `--scenarios large` take fewer.
import { mkdirSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { NO_CHROMIUM, findChromium, launchBrowser, openContext, startFixtureServer } from '../fixtures/dist/index.js';

const OUT = fileURLToPath(new URL('../.cache/pictures/', import.meta.url));

/** Name, path, and an action before the screenshot. */
const PAGES = [
  ['sign-in', '/sign-in', null, 'visitor'],
  ['sign-up', '/sign-up', null, 'visitor'],
  ['forgot', '/forgot', null, 'visitor'],
  ['verify', `/verify#token=${'t'.repeat(43)}`, null, 'visitor'],
  ['reset', `/reset#token=${'t'.repeat(43)}`, null, 'visitor'],
  ['overview', '/'],
  ['keys', '/keys'],
  ['key-create', '/keys?create', null, 'funded'],
  ['key-secret', '/keys?create', createKey, 'funded'],
  ['usage', '/usage'],
  ['usage-call', '/usage', openCall, 'funded'],
  ['billing', '/billing'],
  ['billing-ledger', '/billing?tab=ledger'],
  ['billing-statement', '/billing?tab=statements'],
  ['billing-alerts', '/billing?tab=alerts'],
  ['models', '/models'],
  ['quick-start', '/quick-start'],
  ['playground', '/playground', askModel],
  ['team', '/team'],
  ['account', '/account'],
  ['operator', '/operator'],
  ['operator-account', '/operator', openAccount, 'funded'],
  ['operator-sources', '/operator/sources'],
  ['operator-models', '/operator/models'],
  ['operator-slots', '/operator/slots'],
  ['operator-audit', '/operator/audit'],
];

const text = (value) => ({ type: 'string', default: value });
const { values } = parseArgs({
  options: {
    only: text(PAGES.map(([name]) => name).join()),
    widths: text('390,1280,1920'),
    schemes: text('light,dark'),
    scenarios: text('empty,small,large'),
  },
});
const [only, widths, schemes, scenarios] = Object.values(values).map((value) => value.split(','));
const chromium = findChromium();
if (chromium === null) throw new Error(NO_CHROMIUM);
rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
const server = await startFixtureServer(fileURLToPath(new URL('../dist', import.meta.url)));
const browser = await launchBrowser(chromium);
try {
  // Concurrently, because each scenario has separate data.
  await Promise.all(
    scenarios.map(async (scenario) => {
      for (const scheme of schemes) for (const width of widths) await takeAll(scenario, scheme, Number(width));
    }),
  );
} finally {
  await browser.close();
  await server.stop();
}
console.log(`the pictures are in ${OUT}`);

async function takeAll(scenario, scheme, width) {
  for (const [name, path, act, needs] of PAGES) {
    if (!only.includes(name)) continue;
    if (needs === 'funded' && scenario === 'empty') continue;
    if (needs === 'visitor' && scenario !== 'small') continue;
    const cookies = { fixture: needs === 'visitor' ? 'visitor' : scenario };
    const context = await openContext(browser, { baseUrl: server.url, width, scheme, cookies });
    const page = await context.newPage();
    if (name === 'overview' || name === 'key-create') await page.request.get('/fixture/reset');
    await page.goto(path);
    await page.locator('h1').first().waitFor();
    await page.waitForLoadState('networkidle');
    const file = `${name}-${scenario}-${scheme}-${width}.png`;
    await act?.(page)?.catch((fault) => console.log(`${file}: ${fault.message}`));
    await page.screenshot({ path: `${OUT}${file}`, fullPage: true });
    await context.close();
  }
}

async function createKey(page) {
  await page.getByRole('dialog').getByRole('textbox', { name: /^Name/ }).fill('nightly-report');
  await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
  await page.getByText('Copy it now').waitFor();
}

async function openCall(page) {
  await page
    .getByRole('button', { name: /show request/ })
    .first()
    .click();
  await page.getByRole('heading', { name: 'Paid by' }).waitFor();
}

async function openAccount(page) {
  await page.getByRole('table').getByRole('link').first().click();
  await page.getByText('Nothing held').or(page.getByText('held for unsettled requests')).first().waitFor();
}

async function askModel(page) {
  if (!(await page.getByRole('textbox', { name: 'Message' }).isVisible())) return;
  await page.getByRole('textbox', { name: 'Message' }).fill('What does a gateway do?');
  const send = page.getByRole('button', { name: 'Send' });
  if (await send.isDisabled()) return;
  await send.click();
  await page.getByText(/ in, .* out/).waitFor();
}

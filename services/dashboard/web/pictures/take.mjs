// `npm run pictures -w services/dashboard/web`: takes screenshots of every page with fixtures, at
// three widths, light and dark, empty, small and with 50,000 requests, in `.cache/pictures`.
// Reports elements that are wider than the screen. `--only keys,usage`, `--widths 390`, `--schemes
// dark` and `--scenarios large` take fewer; `--missing` continues an aborted run.
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { NO_CHROMIUM, findChromium, launchBrowser, startFixtureServer } from '../fixtures/dist/index.js';

const OUT = fileURLToPath(new URL('../.cache/pictures/', import.meta.url));
const HEIGHTS = { 390: 844, 1280: 900, 1920: 1080 };
const PICTURE_HEIGHT_MAX = 2_400;
/** From this width, a table that scrolls sideways hides columns that readers miss. */
const TABLES_FIT_FROM = 1_280;

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

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    widths: { type: 'string', default: '390,1280,1920' },
    schemes: { type: 'string', default: 'light,dark' },
    scenarios: { type: 'string', default: 'empty,small,large' },
    missing: { type: 'boolean', default: false },
  },
});
const list = (text) => text.split(',');
const chromium = findChromium();
if (chromium === null) {
  console.error(NO_CHROMIUM);
  process.exit(1);
}
if (!values.missing) rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
const server = await startFixtureServer(fileURLToPath(new URL('../dist', import.meta.url)));
const browser = await launchBrowser(chromium);
const taken = [];
try {
  // Concurrently, because each scenario has separate data.
  await Promise.all(list(values.scenarios).map(takeScenario));
} finally {
  await browser.close();
  await server.stop();
}
console.log(`${taken.length} pictures in ${OUT}`);

async function takeScenario(scenario) {
  for (const scheme of list(values.schemes)) {
    for (const width of list(values.widths).map(Number)) await takeAll(scenario, scheme, width);
  }
}

async function takeAll(scenario, scheme, width) {
  const context = await browser.newContext({
    viewport: { width, height: HEIGHTS[width] ?? 900 },
    colorScheme: scheme,
    reducedMotion: 'reduce',
  });
  for (const [name, path, act, needs] of PAGES) {
    if (values.only !== undefined && !list(values.only).includes(name)) continue;
    if (needs === 'funded' && scenario === 'empty') continue;
    const used = needs === 'visitor' ? 'visitor' : scenario;
    if (needs === 'visitor' && scenario !== 'small') continue;
    const file = `${OUT}${name}-${scenario}-${scheme}-${width}.png`;
    if (values.missing && existsSync(file)) {
      taken.push({ name, scenario, scheme, width, file });
      continue;
    }
    await context.addCookies([{ name: 'fixture', value: used, url: server.url }]);
    const page = await context.newPage();
    if (name === 'overview' || name === 'key-create') await page.request.get(`${server.url}/fixture/reset`);
    await page.goto(`${server.url}${path}`);
    await page.locator('h1').first().waitFor();
    await page.waitForLoadState('networkidle');
    await act?.(page)?.catch((fault) => console.log(`${name} ${scenario} ${scheme} ${width}: ${fault.message}`));
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    if (overflow > 0) console.log(`${name} ${scenario} ${scheme} ${width}: ${overflow} px wider than the screen`);
    if (width >= TABLES_FIT_FROM) {
      const tables = await page.evaluate(() =>
        [...document.querySelectorAll('.table-wrap')].map((wrap) => wrap.scrollWidth - wrap.clientWidth),
      );
      for (const over of tables.filter((pixels) => pixels > 0)) {
        console.log(`${name} ${scenario} ${scheme} ${width}: a table is ${over} px wider than its place`);
      }
    }
    const viewport = { width, height: Math.min(Math.max(height, HEIGHTS[width] ?? 900), PICTURE_HEIGHT_MAX) };
    await page.setViewportSize(viewport);
    await page.waitForTimeout(150);
    await page.screenshot({ path: file });
    taken.push({ name, scenario, scheme, width, file });
    await page.close();
  }
  await context.close();
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

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, jest, test } from '@jest/globals';
import { parse } from 'yaml';
import { OBSERVE, readExpressions, readDashboards, readRecordings, readRules } from '../test/read-observe.js';

/** Time for the first download of Debian's package. */
const FETCH_MS = 120_000;
jest.setTimeout(FETCH_MS);

const rules = readRules();
const CASES = ['tests.yaml', 'tests-hours.yaml'];
const promtool = spawnSync(process.execPath, [`${OBSERVE}find-promtool.mjs`], { encoding: 'utf8', timeout: FETCH_MS });
const withPromtool = promtool.status === 0 ? test : test.skip;
const run = (...args: string[]) => {
  const { status, stdout, stderr } = spawnSync(promtool.stdout.trim(), args, { cwd: OBSERVE, encoding: 'utf8' });
  return { status, text: `${stdout}${stderr}` };
};

withPromtool('alerts fire in their test cases only (needs promtool, or a Debian archive)', () => {
  expect(run('test', 'rules', ...CASES)).toEqual({ status: 0, text: expect.stringContaining('SUCCESS') });
});

withPromtool('Prometheus parses each expression (needs promtool, or a Debian archive)', () => {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-rules-'));
  try {
    const records = readExpressions().map((expr, index) => ({ record: `panel:${index}`, expr }));
    writeFileSync(join(directory, 'all.yaml'), JSON.stringify({ groups: [{ name: 'all', rules: records }] }));
    expect(run('check', 'rules', join(directory, 'all.yaml'))).toEqual({
      status: 0,
      text: expect.stringContaining('SUCCESS'),
    });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test('each alert has a case that fires, one that does not, and a runbook', () => {
  const stories = CASES.flatMap((file) => {
    const { tests } = parse(readFileSync(`${OBSERVE}${file}`, 'utf8')) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
    };
    return tests.flatMap((story) => story.alert_rule_test);
  });
  for (const { alert, labels, annotations } of rules) {
    const fired = stories.filter(({ alertname }) => alertname === alert).map(({ exp_alerts }) => exp_alerts.length);
    expect([alert, ...new Set(fired.sort())]).toEqual([alert, 0, 1]);
    expect(annotations.runbook_url).toBe(`deploy/observe/runbooks/${alert}.md`);
    const page = readFileSync(`${OBSERVE}runbooks/${alert}.md`, 'utf8');
    expect([...page.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading)).toEqual([alert, 'Meaning', 'Check', 'Do']);
    expect(page.toLowerCase()).toContain(`${labels.severity}.`);
  }
  expect(readdirSync(`${OBSERVE}runbooks`).sort()).toEqual(rules.map(({ alert }) => `${alert}.md`).sort());
});

test('an alert fires once for all replicas and has no customer ID as a label', () => {
  for (const { alert, expr } of rules) {
    expect([alert, /^(sum|max|min|count|histogram_quantile|label_replace|1 - sum)\b/.test(expr)]).toEqual([
      alert,
      true,
    ]);
    expect(expr).not.toMatch(/by \([^)]*(instance|account|key|model)/);
  }
});

test('rules separate installations in one Prometheus and ignore foreign jobs', () => {
  const recordings = readRecordings().map(({ record, expr }) => ({ alert: record, expr }));
  for (const { alert, expr } of [...recordings, ...rules.filter((rule) => !rule.expr.includes('kube_'))]) {
    const aggregations = [...expr.matchAll(/\b(?:sum|max|min|count|group)\b(?! by \(gateway\b)/g)];
    expect([alert, aggregations.map(([found]) => found)]).toEqual([alert, []]);
    const targets = [...expr.matchAll(/\bup\b(?!\{gateway!="")/g)];
    expect([alert, targets.length]).toEqual([alert, 0]);
  }
});

test('alerts and panels use only recorded names that exist, and each is used', () => {
  const recorded = new Set(readRecordings().map(({ record }) => record));
  const used = readExpressions().flatMap((expr) => expr.match(/\bgateway:[a-z0-9_:]+/g) ?? []);
  expect([...new Set(used)].sort()).toEqual([...recorded].sort());
});

test('runbooks name only existing alerts and commands', () => {
  const root = `${OBSERVE}../../`;
  const scriptsOf = (room: string) =>
    Object.keys((JSON.parse(readFileSync(`${root}${room}package.json`, 'utf8')) as { scripts?: object }).scripts ?? {});
  const named = new Set(rules.map(({ alert }) => alert));
  for (const { alert } of rules) {
    const page = readFileSync(`${OBSERVE}runbooks/${alert}.md`, 'utf8');
    for (const [name] of page.matchAll(/\bGateway[A-Z]\w+/g)) expect([alert, named.has(name)]).toEqual([alert, true]);
    for (const [, script = '', room] of page.matchAll(/npm run (?:-s )?([\w:-]+)(?: -w ([\w/-]+))?/g)) {
      expect([alert, scriptsOf(room ? `${room}/` : '')]).toEqual([alert, expect.arrayContaining([script])]);
    }
  }
});

test('runbooks name only existing dashboards and panels', () => {
  const dashboards = readDashboards();
  const panels = dashboards.flatMap((dashboard) => dashboard.panels.map(({ title }) => title));
  const pages = rules.map(({ alert }) => [alert, readFileSync(`${OBSERVE}runbooks/${alert}.md`, 'utf8')] as const);
  const italic = (text = '') => [...text.matchAll(/_([^_]+)_/g)].map(([, name]) => name ?? '');
  const named = pages.flatMap(([alert, page]) =>
    [...page.matchAll(/\b[Pp]anels? (_[^_]+_(?:(?:,| and) _[^_]+_)*)/g)].flatMap(([, names]) =>
      italic(names).map((name) => [alert, name] as const),
    ),
  );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter(([, name]) => !panels.includes(name))).toEqual([]);
  const titles = pages.flatMap(([, page]) => [...page.matchAll(/\bdashboard _([^_]+)_/g)].map(([, title]) => title));
  expect(titles.length).toBeGreaterThan(10);
  expect(titles.filter((title) => !dashboards.some((dashboard) => dashboard.title === `Gateway: ${title}`))).toEqual(
    [],
  );
});

test('dashboards have unique names, no overlapping panels and a data source variable', () => {
  const dashboards = readDashboards();
  expect(new Set(dashboards.map(({ uid }) => uid)).size).toBe(dashboards.length);
  for (const dashboard of dashboards) {
    expect(existsSync(`${OBSERVE}grafana/dashboards/${dashboard.uid}.json`)).toBe(true);
    for (const { targets } of dashboard.panels) {
      for (const { expr } of targets) expect([expr, findUnfilteredMetrics(expr)]).toEqual([expr, []]);
    }
    expect(JSON.stringify(dashboard).match(/"uid":"(?!\$\{datasource\}|gateway-)/)).toBeNull();
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w } }) =>
      Array.from({ length: w }, (_unused, at) => `${y}/${x + at}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    for (const { targets } of dashboard.panels) expect(targets.length).toBeGreaterThan(0);
  }
});

/** Returns metrics of an expression that the dashboard's variable does not filter. */
function findUnfilteredMetrics(expr: string): string[] {
  const metrics = [...expr.matchAll(/\b(?:gateway|gen_ai)_[a-z0-9_]+(?![a-z0-9_]|\{gateway=~"\$gateway")/g)];
  return metrics.map(([name]) => name).filter((name) => !/^gen_ai_(operation_name|token_type)$/.test(name));
}

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, jest, test } from '@jest/globals';
import { parse } from 'yaml';
import { OBSERVE, expressions, readDashboards, readRules } from '../test/read-observe.js';

/** The first time Debian's package is fetched. */
const FETCH_MS = 120_000;
jest.setTimeout(FETCH_MS);

const rules = readRules();
const promtool = spawnSync(process.execPath, [`${OBSERVE}find-promtool.mjs`], { encoding: 'utf8', timeout: FETCH_MS });
const withPromtool = promtool.status === 0 ? test : test.skip;
const run = (...args: string[]) => {
  const { status, stdout, stderr } = spawnSync(promtool.stdout.trim(), args, { cwd: OBSERVE, encoding: 'utf8' });
  return { status, text: `${stdout}${stderr}` };
};

withPromtool(
  'each alert fires in its story and does not fire in the other (needs promtool, or a Debian archive)',
  () => {
    expect(run('test', 'rules', 'tests.yaml')).toEqual({ status: 0, text: expect.stringContaining('SUCCESS') });
  },
);

withPromtool(
  'every expression of rules and panels can be read by Prometheus (needs promtool, or a Debian archive)',
  () => {
    const directory = mkdtempSync(join(tmpdir(), 'gateway-rules-'));
    try {
      const records = expressions().map((expr, index) => ({ record: `panel:${index}`, expr }));
      writeFileSync(join(directory, 'all.yaml'), JSON.stringify({ groups: [{ name: 'all', rules: records }] }));
      expect(run('check', 'rules', join(directory, 'all.yaml'))).toEqual({
        status: 0,
        text: expect.stringContaining('SUCCESS'),
      });
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
);

test('each alert has a story in which it fires, one in which it does not, and a page: meaning, check, do', () => {
  const { tests } = parse(readFileSync(`${OBSERVE}tests.yaml`, 'utf8')) as {
    tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
  };
  const stories = tests.flatMap((story) => story.alert_rule_test);
  for (const { alert, labels, annotations } of rules) {
    const fired = stories.filter(({ alertname }) => alertname === alert).map(({ exp_alerts }) => exp_alerts.length);
    expect([alert, ...fired.sort()]).toEqual([alert, 0, 1]);
    expect(annotations.runbook).toBe(`deploy/observe/runbooks/${alert}.md`);
    const page = readFileSync(`${OBSERVE}runbooks/${alert}.md`, 'utf8');
    expect([...page.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading)).toEqual([alert, 'Meaning', 'Check', 'Do']);
    expect(page.toLowerCase()).toContain(`${labels.severity}.`);
  }
  expect(readdirSync(`${OBSERVE}runbooks`).sort()).toEqual(rules.map(({ alert }) => `${alert}.md`).sort());
});

test('an alert is raised once, not once for each replica, and tells no id of a customer', () => {
  for (const { alert, expr } of rules) {
    expect([alert, /^(sum|max|min|count|histogram_quantile)\b/.test(expr)]).toEqual([alert, true]);
    expect(expr).not.toMatch(/by \([^)]*(instance|account|key|model)/);
  }
});

test('runbooks name alerts that are there, and commands that exist', () => {
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
    const panels = readDashboards().flatMap((dashboard) => dashboard.panels.map(({ title }) => title));
    for (const [, panel] of page.matchAll(/[Pp]anel \*([^*]+)\*/g)) expect(panels).toContain(panel);
  }
});

test('the chart raises the same alerts', () => {
  const chart = readFileSync(`${OBSERVE}../helm/model-gateway/files/alerts.yaml`, 'utf8');
  expect(chart).toBe(readFileSync(`${OBSERVE}rules/alerts.yaml`, 'utf8'));
});

test('dashboards have names of their own, panels that do not overlap, and Prometheus as a variable', () => {
  const dashboards = readDashboards();
  expect(new Set(dashboards.map(({ uid }) => uid)).size).toBe(dashboards.length);
  for (const dashboard of dashboards) {
    expect(existsSync(`${OBSERVE}grafana/dashboards/${dashboard.uid}.json`)).toBe(true);
    expect(JSON.stringify(dashboard).match(/"uid":"(?!\$\{datasource\}|gateway-)/)).toBeNull();
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w } }) =>
      Array.from({ length: w }, (_unused, at) => `${y}/${x + at}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    for (const { targets } of dashboard.panels) expect(targets.length).toBeGreaterThan(0);
  }
});

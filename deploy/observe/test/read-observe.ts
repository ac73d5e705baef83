import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

export const OBSERVE = fileURLToPath(new URL('..', import.meta.url));

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}
/** A value that Prometheus computes at each evaluation and stores under this name. */
export interface RecordingRule {
  readonly record: string;
  readonly expr: string;
}
export interface Panel {
  readonly title: string;
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number };
  readonly targets: readonly { readonly expr: string }[];
}
export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly panels: readonly Panel[];
}

export function readRules(): readonly AlertRule[] {
  return readGroups().filter((rule) => 'alert' in rule);
}

export function readRecordings(): readonly RecordingRule[] {
  return readGroups().filter((rule) => 'record' in rule);
}

function readGroups(): readonly (AlertRule | RecordingRule)[] {
  const { groups } = parse(readFileSync(`${OBSERVE}rules/alerts.yaml`, 'utf8')) as {
    groups: { rules: (AlertRule | RecordingRule)[] }[];
  };
  return groups.flatMap(({ rules }) => rules);
}

export function readDashboards(): readonly Dashboard[] {
  return readdirSync(`${OBSERVE}grafana/dashboards`).map(
    (file) => JSON.parse(readFileSync(`${OBSERVE}grafana/dashboards/${file}`, 'utf8')) as Dashboard,
  );
}

/** Returns all expressions of rules and panels. */
export function readExpressions(): readonly string[] {
  const panels = readDashboards().flatMap((dashboard) => dashboard.panels);
  const rules = [...readRules(), ...readRecordings()].map(({ expr }) => expr);
  return [...rules, ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))];
}

/**
 * Returns the names of this project's metrics in an expression, without the suffixes that
 * Prometheus appends to histograms.
 */
export function findMetrics(expr: string): string[] {
  const withoutLabels = expr.replace(/\{[^}]*\}|\bby \([^)]*\)/g, '');
  return [...withoutLabels.matchAll(/\b(?:gateway|gen_ai)_[a-z0-9_]+/g)].map(([name]) =>
    name.replace(/_(bucket|sum|count)$/, ''),
  );
}

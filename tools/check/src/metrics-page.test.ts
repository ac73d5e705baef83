import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type * as Compiler from 'typescript';
import { expect, test } from '@jest/globals';

/** The compiler is a CommonJS module. It only parses here. */
const ts = createRequire(import.meta.url)('typescript') as typeof Compiler;

const ROOT = new URL('../../../', import.meta.url);
const PAGE = new URL('docs/metrics.md', ROOT);

/** How the page names the variable parts of names and texts. */
const PLACEHOLDERS: Readonly<Record<string, string>> = {
  service: '<service>',
  'api.metricPrefix': 'gateway_<api>',
  'api.title': 'the dashboard or the operator API',
};
/** Position of the labels among the arguments. */
const LABELS_AT: Readonly<Record<string, number>> = { counter: 2, histogram: 3, gauge: 3, polledGauge: 3 };
const UNITS = [
  [/_seconds$/, 'seconds'],
  [/_bytes$/, 'bytes'],
  [/_usd_total$/, 'USD'],
  [/_tokens_total$|_token_usage$/, 'tokens'],
  [/_ratio$/, '0 to 1'],
] as const;

interface Definition {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly meaning: string;
}

/** The metrics that libs/bus defines with OpenTelemetry's own counters. */
const OF_BUS: readonly Definition[] = [
  {
    name: 'gateway_bus_messages_refused_total',
    type: 'counter',
    labels: ['message', 'reason'],
    meaning: 'Messages that no handler received, because they were invalid or the service was overloaded',
  },
  {
    name: 'gateway_bus_requests_failed_total',
    type: 'counter',
    labels: ['message', 'code'],
    meaning: 'Requests and stored messages that failed at their sender',
  },
];

test('docs/metrics.md matches the definitions in the code (UPDATE_GOLDEN=1 writes it)', () => {
  const counters = readFileSync(new URL('libs/bus/src/counters.ts', ROOT), 'utf8');
  for (const { name } of OF_BUS) {
    expect(counters).toContain(`'${name.replace('_total', '').replace(/_/g, '.')}'`);
  }
  const page = toPage(readDefinitions());
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(PAGE, page);
  expect(readFileSync(PAGE, 'utf8')).toBe(page);
});

/** Returns the definitions by process, in the order of their names. */
function readDefinitions(): Map<string, Definition[]> {
  const found = new Map<string, Definition[]>([['Every process', [...OF_BUS]]]);
  for (const parent of ['libs', 'services']) {
    for (const room of readdirSync(new URL(parent, ROOT)).sort()) {
      const title = parent === 'libs' ? 'Every process' : room;
      const definitions = found.get(title) ?? [];
      for (const file of sourcesOf(`${parent}/${room}/src`)) definitions.push(...definitionsOf(file));
      if (definitions.length > 0) found.set(title, definitions);
    }
  }
  for (const definitions of found.values()) definitions.sort((one, other) => (one.name < other.name ? -1 : 1));
  return found;
}

function sourcesOf(directory: string): string[] {
  const url = new URL(`${directory}/`, ROOT);
  try {
    return readdirSync(url, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
      .map((file) => `${directory}/${file}`);
  } catch {
    return [];
  }
}

function definitionsOf(path: string): Definition[] {
  const text = readFileSync(new URL(path, ROOT), 'utf8');
  if (!/\b(?:counter|histogram|gauge|polledGauge)\(/.test(text)) return [];
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const definitions: Definition[] = [];
  const visit = (node: Compiler.Node): void => {
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression)) {
      const definition = toDefinition(file, node, node.expression.text);
      if (definition !== null) definitions.push(definition);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return definitions;
}

/** Returns null for other calls, also for those that pass on the name of their caller. */
function toDefinition(
  file: Compiler.SourceFile,
  { arguments: parts }: Compiler.CallExpression,
  called: string,
): Definition | null {
  const at = LABELS_AT[called];
  const name = at === undefined ? null : readText(parts[0]);
  if (at === undefined || name === null) return null;
  const meaning = readText(parts[1]);
  if (meaning === null) throw new Error(`${file.fileName}: the text of ${name} is not a constant`);
  const given = parts[at];
  const object = given === undefined ? null : readObject(file, given);
  if (given !== undefined && object === null) throw new Error(`${file.fileName}: the labels of ${name} are unknown`);
  const isGauge = called === 'gauge' || called === 'polledGauge';
  return {
    name,
    type: isGauge ? 'gauge' : called,
    labels: object === null ? [] : isGauge ? readGaugeLabel(object) : readKeys(file, object),
    meaning,
  };
}

function readText(node: Compiler.Expression | undefined): string | null {
  if (node === undefined) return null;
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return null;
  return node.templateSpans.reduce((text, { expression, literal }) => {
    const placeholder = PLACEHOLDERS[expression.getText()];
    if (placeholder === undefined) throw new Error(`no placeholder for ${expression.getText()}`);
    return `${text}${placeholder}${literal.text}`;
  }, node.head.text);
}

/** Returns the object literal of an expression, or of the constant that it names. */
function readObject(file: Compiler.SourceFile, node: Compiler.Expression): Compiler.ObjectLiteralExpression | null {
  if (ts.isObjectLiteralExpression(node)) return node;
  if (ts.isAsExpression(node)) return readObject(file, node.expression);
  if (!ts.isIdentifier(node)) return null;
  let found: Compiler.Expression | undefined;
  const visit = (each: Compiler.Node): void => {
    if (ts.isVariableDeclaration(each) && each.name.getText() === node.text) found ??= each.initializer;
    ts.forEachChild(each, visit);
  };
  visit(file);
  return found === undefined ? null : readObject(file, found);
}

function readKeys(file: Compiler.SourceFile, object: Compiler.ObjectLiteralExpression): string[] {
  return object.properties.flatMap((property) => {
    if (!ts.isSpreadAssignment(property)) return property.name?.getText() ?? [];
    const spread = readObject(file, property.expression);
    return spread === null ? [] : readKeys(file, spread);
  });
}

function readGaugeLabel(object: Compiler.ObjectLiteralExpression): string[] {
  return object.properties.flatMap((property) =>
    ts.isPropertyAssignment(property) && property.name.getText() === 'label'
      ? (readText(property.initializer) ?? [])
      : [],
  );
}

function toPage(found: ReadonlyMap<string, readonly Definition[]>): string {
  const sections = [...found].flatMap(([title, definitions]) => [
    `## ${title}`,
    '',
    '| Metric | Type | Labels | Unit | Meaning |',
    '| --- | --- | --- | --- | --- |',
    ...definitions.map(({ name, type, labels, meaning }) => {
      const unit = UNITS.find(([suffix]) => suffix.test(name))?.[1] ?? '';
      return `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${unit} | ${meaning} |`;
    }),
    '',
  ]);
  return [
    '# Metrics',
    '',
    'Generated from the definitions in the code: `UPDATE_GOLDEN=1 npm test -- metrics-page` writes this page. Each process serves its',
    'metrics at `/metrics` of its admin address, in the format of Prometheus. A counter counts since the start of the process. A histogram',
    'has the suffixes `_bucket`, `_sum` and `_count`. Label values come from fixed lists or from the catalog, never from clients: a value',
    'outside of them is `other`. [Number of series](../deploy/observe/README.md#number-of-series), [alerts and',
    'dashboards](../deploy/observe/README.md), [objectives](operating.md#objectives).',
    '',
    ...sections,
  ].join('\n');
}

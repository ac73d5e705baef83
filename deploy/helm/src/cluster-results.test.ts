import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { Ajv } from 'ajv';
import { compareLedger, type Line } from '../cluster/load.mjs';
import { renderSteps, tally } from '../cluster/results.mjs';
import { documented } from '../cluster/shell.mjs';
import { HELM, type Manifest } from '../test/goldens.js';
import { schemaProblems } from '../test/kubernetes-schema.js';

const line = (at: number, ms: number, problem: string | null = null, kind: Line['kind'] = 'call'): Line => ({
  kind,
  at,
  ms,
  status: problem === null || problem === 'cut' ? 200 : 500,
  problem,
  id: `${kind}-${at}`,
  nanoUsd: problem === null ? 750 : 0,
});
const lines: Line[] = [
  line(900, 50),
  line(1_000, 20),
  line(1_400, 100, 'admission_error'),
  line(1_500, 700, 'admission_error'),
  line(1_999, 30),
  line(2_000, 90, 'ECONNREFUSED'),
  line(500, 600, 'cut', 'stream'),
  line(1_200, 700, null, 'stream'),
  line(1_300, 20, 'ECONNREFUSED', 'stream'),
  line(1_900, 30_000, 'cut', 'stream'),
];
const step = { name: 'drained', from: 1_000, to: 2_000, bound: [1, 1] as const };

test('requests and streams count in the step in which they ended', () => {
  expect(tally(step, lines)).toEqual({
    calls: 3,
    refused: 2,
    refusedSeconds: 0.2,
    slowestMs: 100,
    streams: 2,
    cut: 1,
    problems: new Map([
      ['admission_error', 1],
      ['ECONNREFUSED', 1],
      ['cut', 1],
    ]),
    isWithin: true,
  });
});

test.each([
  ['longer refusals', [0.2, 1] as const, lines],
  ['a refusal where none is allowed', [0, 0] as const, [line(1_000, 0, 'admission_error')]],
  ['a cut stream', [1, 0] as const, lines],
  ['no request', [1, 0] as const, []],
])('a step fails with %s', (_name, bound, found) => {
  expect(tally({ ...step, bound }, found).isWithin).toBe(false);
});

test('the table has each step with its refused requests, cut streams and causes', () => {
  const failed = { name: 'killed', from: 2_000, to: 3_000, bound: [0, 0] as const };
  const text = renderSteps([step, failed], lines);
  expect(text).toContain(
    '| drained | 1 s | 3 | 2 in 0.2 s | 100 ms | 2 | 1 | admission_error 1, ECONNREFUSED 1, cut 1 |',
  );
  expect(text).toContain(
    '| killed **failed** | 1 s | 3 | 2 in 0.7 s | 700 ms | 0 | 0 | admission_error 1, ECONNREFUSED 1 |',
  );
});

test('the ledger must have each complete response once with its amount', () => {
  const complete = [line(1, 5), line(2, 5), line(3, 5), line(4, 5)];
  const charges = new Map([
    ['call-1', { times: 1, nanoUsd: 750 }],
    ['call-2', { times: 2, nanoUsd: 750 }],
    ['call-3', { times: 1, nanoUsd: 751 }],
  ]);
  expect(compareLedger([...complete, line(5, 5, 'admission_error')], charges)).toEqual([
    'call-2: 2 charges of 750 nano-USD instead of one of 750',
    'call-3: 1 charges of 751 nano-USD instead of one of 750',
    'call-4: 0 charges of 0 nano-USD instead of one of 750',
  ]);
});

test("the chart's README has the blocks that the check runs, and its values files", () => {
  const blocks = [...documented('Install'), ...documented('Upgrade, go back, remove')];
  const words = blocks.map(
    (block) =>
      /(npm run images|secrets -- kubernetes|helm \w+|port-forward|operators create|providers add|curl|ledger show|kubectl delete)/.exec(
        block,
      )?.[0],
  );
  expect(words).toEqual([
    'npm run images',
    'secrets -- kubernetes',
    'helm install',
    'port-forward',
    'operators create',
    'providers add',
    'port-forward',
    'curl',
    'ledger show',
    'secrets -- kubernetes',
    'helm rollback',
    'helm uninstall',
    'kubectl delete',
  ]);
  for (const [, file = ''] of blocks.join('').matchAll(/--values (\S+)/g)) readFileSync(`${HELM}../../${file}`);
});

test("the check's objects are valid Kubernetes objects, its values match the schema", () => {
  const documents = ['pods', 'operate', 'filler'].flatMap((name) =>
    parseAllDocuments(readFileSync(`${HELM}cluster/${name}.yaml`, 'utf8')),
  );
  expect(documents).toHaveLength(10);
  expect(documents.flatMap((document) => schemaProblems(document.toJS() as Manifest))).toEqual([]);
  const schema = JSON.parse(readFileSync(`${HELM}model-gateway/values.schema.json`, 'utf8')) as object;
  const accepts = new Ajv({ allErrors: true, allowUnionTypes: true }).compile(schema);
  accepts(parse(readFileSync(`${HELM}cluster/values.yaml`, 'utf8')));
  expect(accepts.errors ?? []).toEqual([]);
});

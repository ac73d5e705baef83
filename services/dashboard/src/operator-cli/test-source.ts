import type { SourceTestCall, SourceTestView } from '@gateway/contracts/operator';
import type { OperatorApi } from './operator-api.js';
import { readOptions, UsageError, type Output, type Program } from './program.js';
import { table } from './words.js';

/** `sources test`: sends one request to each endpoint of a source and reports faults. */
export const TEST_SOURCE: Program = {
  name: ['sources', 'test'],
  form: 'sources test <id>     sends a small request to each endpoint; the provider may charge for it',
  async run({ words, fields, api, to }) {
    readOptions(fields, { flags: [], values: [] });
    const [id, ...others] = words;
    if (id === undefined || others.length > 0) throw new UsageError('name one source: `sources list` shows them');
    return (await testSource(api, id, to)).works ? 0 : 1;
  },
};

/** Tests a source and prints the result. */
export async function testSource(api: OperatorApi, id: string, to: Output): Promise<SourceTestView> {
  const test = await api.post<SourceTestView>(`/sources/${encodeURIComponent(id)}/test`, {});
  to.out(testInWords(test));
  return test;
}

function testInWords({ sourceId, edge, problem, calls, works }: SourceTestView): string {
  if (problem !== null) return `source ${sourceId} cannot be used by ${edge}: ${problem}\n`;
  const remarks = calls.flatMap(({ endpoint, finding, text, providerText }) => [
    ...(finding === 'works' && text === WORKS ? [] : [`${endpoint}: ${text}`]),
    ...(providerText === null ? [] : [`  the provider said: ${providerText}`]),
  ]);
  const lines = [...new Set(remarks)].map((line) => `${line}\n`);
  return [
    `source ${sourceId}, called by ${edge}:\n`,
    table([HEAD, ...calls.map(rowOf)]),
    ...lines,
    works ? `source ${sourceId} works.\n` : `source ${sourceId} does not work.\n`,
  ].join('');
}

/** The text of a finding without remarks. */
const WORKS = 'It works.';
const HEAD = ['ENDPOINT', 'FINDING', 'STATUS', 'FIRST BYTE', 'WHOLE', 'TOKENS IN', 'OUT', 'COST USD', 'PRICE USD'];

function rowOf(call: SourceTestCall): string[] {
  const { endpoint, streamed, finding, status, firstByteMs, totalMs, usage, costUsd, priceUsd } = call;
  return [
    `${endpoint}${streamed ? ' (streamed)' : ''}`,
    finding,
    shown(status),
    firstByteMs === null ? '-' : `${firstByteMs} ms`,
    finding === 'untried' ? '-' : `${totalMs} ms`,
    shown(usage?.input ?? null),
    shown(usage?.output ?? null),
    shown(costUsd),
    shown(priceUsd),
  ];
}

function shown(value: string | number | null): string {
  return value === null ? '-' : String(value);
}

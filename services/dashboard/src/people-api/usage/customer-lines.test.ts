import { expect, test } from '@jest/globals';
import { isRefusal } from '@gateway/contracts/operator';
import { AT, RECORD } from '../../../test/examples.js';
import { convertPages } from './customer-lines.js';

async function fileOf(format: 'csv' | 'jsonl', ...records: object[]): Promise<string> {
  async function* lines() {
    yield records.map((record) => `${JSON.stringify(record)}\n`).join('');
  }
  const pages = convertPages(lines(), 'usage-records', format, true);
  if (isRefusal(pages)) throw new Error('refused');
  let text = '';
  for await (const page of pages) text += page;
  return text;
}

const LINE = { ...RECORD, recordedAt: AT };
const SERVED = {
  class: 'flex',
  units: { web_search: 2 },
  kinds: { audioInput: 0, imageInput: 40, audioOutput: 0, imageOutput: 0 },
};

test("a customer's file has the class, the tools and the media tokens of a request", async () => {
  const [head, ...rows] = (await fileOf('csv', { ...LINE, ...SERVED }, LINE)).trim().split('\r\n');
  expect(head).toMatch(
    /,recordedAt,class,units,audioInputTokens,imageInputTokens,audioOutputTokens,imageOutputTokens,cacheWrite1hTokens\b/,
  );
  expect(rows[0]).toMatch(/,"flex","\{""web_search"":2\}",0,40,0,0,0\b/);
  expect(rows[1]).toMatch(/,"standard",,,,,,0\b/);
  expect(JSON.parse(await fileOf('jsonl', { ...LINE, ...SERVED }))).toMatchObject({
    class: 'flex',
    units: '{"web_search":2}',
    imageInputTokens: 40,
  });
});

test.each([
  ['x;=1+1', '"x;=1+1"'],
  ['＝1+1', `"'＝1+1"`],
  ['\tx', `"'\tx"`],
  ['\rx', `"'\rx"`],
])('customerPages() quotes the text %j', async (modelId, cell) => {
  const [, row] = (await fileOf('csv', { ...LINE, modelId })).split(/\r\n/);
  expect(row).toContain(`,${cell},`);
});

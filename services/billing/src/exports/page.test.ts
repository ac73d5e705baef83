import { expect, test } from '@jest/globals';
import { readCsv } from '../../test/read-csv.js';
import { type Column, csvHead, csvLine } from './page.js';

const COLUMNS: readonly Column<{ text: string | null; money: string | null }>[] = [
  { name: 'text', kind: 'text', value: ({ text }) => text },
  { name: 'money', kind: 'plain', value: ({ money }) => money },
];

test.each([
  ['plain', '-1.50', '"plain",-1.50'],
  ['a,b', '1', '"a,b",1'],
  ['x;=1+1', '1', '"x;=1+1",1'],
  ['x\t=1+1', null, '"x\t=1+1",'],
  ['says "no"', null, '"says ""no""",'],
  ['two\nlines', null, '"two\nlines",'],
  [null, null, ','],
  ['=1+1', null, `"'=1+1",`],
  ['+1', null, `"'+1",`],
  ['-1', null, `"'-1",`],
  ['@sum', null, `"'@sum",`],
  ['＝1+1', null, `"'＝1+1",`],
  ['＋1', null, `"'＋1",`],
  ['－1', null, `"'－1",`],
  ['＠sum', null, `"'＠sum",`],
  ['\tx', null, `"'\tx",`],
  ['\rx', null, `"'\rx",`],
  ["'quoted'", null, `"''quoted'",`],
  ['=HYPERLINK("http://x","y")', null, `"'=HYPERLINK(""http://x"",""y"")",`],
])('%j and %j are the line %j, and are parsed back', (text, money, line) => {
  expect(csvLine(COLUMNS, { text, money })).toBe(`${line}\r\n`);
  expect(readCsv(csvHead(COLUMNS) + csvLine(COLUMNS, { text, money }))).toEqual([{ text, money }]);
});

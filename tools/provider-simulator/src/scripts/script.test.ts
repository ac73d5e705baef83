import { expect, test } from '@jest/globals';
import { type ScriptStep, checkSteps } from './script.js';

test.each<[ScriptStep[], RegExp]>([
  [[{}], /^steps\[0\]: must have fields of one kind/],
  [[{ state: 500 } as ScriptStep], /^steps\[0\]: must have fields of one kind/],
  [[{ status: 500, chunk: 'x' }], /^steps\[0\]: must have fields of one kind/],
  [[{ usage: { input: 1, cachedInput: 2 } }], /^steps\[0\]: cachedInput and cacheWrite must be parts of input$/],
  [[{ end: 'cut' }, { chunk: 'x' }], /^steps\[0\]: end must be the last step$/],
  [[{ chunk: 'x' }, { status: 200 }], /^steps\[1\]: the status step must come before every chunk$/],
  [[{ status: 200 }, { status: 201 }], /^steps\[1\]: a script has one status step at most$/],
  [[{ usage: null }, { usage: null }], /^steps\[1\]: a script has one usage step at most$/],
  [[{ usage: null }, { chunk: 'x' }], /^usage cannot be combined/],
  [[{ status: 500 }, { usage: null }], /^usage cannot be combined/],
])('steps %j are refused', (steps, message) => {
  expect(() => checkSteps(steps)).toThrow(message);
});

import { expect, test } from '@jest/globals';
import { parseInstructions, parseScriptRuns, subtract } from './counters.js';

test('parseScriptRuns() counts runs of all kinds, without other commands', () => {
  const info = [
    '# Commandstats',
    'cmdstat_evalsha:calls=3,usec=27,usec_per_call=9.00,rejected_calls=0,failed_calls=0',
    'cmdstat_fcall:calls=2,usec=27,usec_per_call=9.00,rejected_calls=0,failed_calls=0',
    'cmdstat_hget:calls=8,usec=1,usec_per_call=1.00,rejected_calls=0,failed_calls=0',
    'cmdstat_script|load:calls=1,usec=1,usec_per_call=1.00,rejected_calls=0,failed_calls=0',
  ];
  expect(parseScriptRuns(info.join('\r\n'))).toBe(5);
});

test('parseInstructions() reads the count, or returns NaN without hardware counters', () => {
  expect(parseInstructions('93018,,instructions,1043000,100.00,,\n')).toBe(93_018);
  expect(parseInstructions('93018,,instructions:u,1043000,100.00,,\n')).toBe(93_018);
  expect(parseInstructions('<not supported>,,instructions,0,100.00,,\n')).toBeNaN();
});

test('subtract() counts a name without an earlier value from zero', () => {
  expect(subtract({ nats: 5, redis: 3 }, { nats: 2, edge: 9 })).toEqual({ nats: 3, redis: 3 });
});

import { expect, test } from '@jest/globals';
import { parseInstructions, parseRedisInfo } from './counters.js';

const INFO = [
  '# Stats',
  'total_net_input_bytes:1551',
  'total_net_output_bytes:99',
  '# Persistence',
  'aof_current_size:2048',
  '# Commandstats',
  'cmdstat_evalsha:calls=3,usec=27,usec_per_call=9.00,rejected_calls=0,failed_calls=0',
  'cmdstat_fcall:calls=2,usec=27,usec_per_call=9.00,rejected_calls=0,failed_calls=0',
  'cmdstat_hget:calls=8,usec=1,usec_per_call=1.00,rejected_calls=0,failed_calls=0',
  'cmdstat_script|load:calls=1,usec=1,usec_per_call=1.00,rejected_calls=0,failed_calls=0',
  'cmdstat_info:calls=900,usec=1,usec_per_call=1.00,rejected_calls=0,failed_calls=0',
  'cmdstat_client|setname:calls=9,usec=1,usec_per_call=1.00,rejected_calls=0,failed_calls=0',
].join('\r\n');

test('counts scripts and commands separately, without the commands of the bench', () => {
  expect(parseRedisInfo(INFO)).toEqual({
    redisScripts: 5,
    redisCommands: 9,
    redisBytesIn: 1_551,
    redisAppendedBytes: 2_048,
  });
});

test('leaves out the append-only file if there is none', () => {
  expect(parseRedisInfo('# Stats\r\ntotal_net_input_bytes:1\r\n')).toEqual({
    redisScripts: 0,
    redisCommands: 0,
    redisBytesIn: 1,
  });
});

test('parseInstructions() reads the count, or returns NaN without hardware counters', () => {
  expect(parseInstructions('93018,,instructions,1043000,100.00,,\n')).toBe(93_018);
  expect(parseInstructions('93018,,instructions:u,1043000,100.00,,\n')).toBe(93_018);
  expect(parseInstructions('<not supported>,,instructions,0,100.00,,\n')).toBeNaN();
});

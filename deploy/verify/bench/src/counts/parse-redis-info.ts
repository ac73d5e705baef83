import type { Counters } from './counters.js';

const SCRIPTS = ['evalsha', 'eval', 'fcall', 'evalsha_ro', 'fcall_ro'];
/** Commands that the counting itself sends. */
const OWN = ['info', 'auth', 'hello', 'client|setname', 'quit'];

/** Reads the counters from the response to `INFO everything`. */
export function readRedisInfo(info: string): Counters {
  const field = (name: string): number | null => {
    const value = new RegExp(`^${name}:(\\d+)\\r?$`, 'm').exec(info)?.[1];
    return value === undefined ? null : Number(value);
  };
  let [scripts, commands] = [0, 0];
  for (const [, name = '', calls = ''] of info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)) {
    if (SCRIPTS.includes(name)) scripts += Number(calls);
    else if (!OWN.includes(name)) commands += Number(calls);
  }
  const [bytesIn, appended] = [field('total_net_input_bytes'), field('aof_current_size')];
  return {
    redisScripts: scripts,
    redisCommands: commands,
    ...(bytesIn === null ? {} : { redisBytesIn: bytesIn }),
    ...(appended === null ? {} : { redisAppendedBytes: appended }),
  };
}

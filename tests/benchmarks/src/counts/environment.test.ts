import { expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readVariable } from './gateway-counter.js';

test('variableOf() reads a variable of a running process, or returns null', async () => {
  const env = { GATEWAY_ADMIN_PORT: '1234', GATEWAY_ADMIN_PORT_OTHER: '5' };
  const child = spawn(process.execPath, ['-e', 'process.send(1); setInterval(() => 0, 1000)'], {
    env,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  try {
    await once(child, 'message');
    const groups = { billing: [child.pid ?? 0] };
    expect(readVariable(groups, 'billing', 'GATEWAY_ADMIN_PORT')).toBe('1234');
    expect(readVariable(groups, 'billing', 'GATEWAY_ADMIN')).toBeNull();
    expect(readVariable(groups, 'redis', 'GATEWAY_ADMIN_PORT')).toBeNull();
  } finally {
    child.kill('SIGKILL');
  }
});

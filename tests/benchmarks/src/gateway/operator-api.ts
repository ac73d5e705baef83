import { readVariable } from '../counts/gateway-counter.js';
import type { ProcessGroups } from '../machine/read-cpu.js';

const ANSWER_MS_MAX = 30_000;

/** Sends a request to the operator API. @throws Error with the response if it fails */
export type OperatorClient = <T>(method: 'POST' | 'PUT', path: string, body: object) => Promise<T>;

/**
 * Returns a client of the operator API of a running gateway of any commit. Address and token come
 * from the environment of its dashboard process.
 */
export function createOperatorClient(processes: ProcessGroups): OperatorClient {
  const read = (variable: string): string => {
    const value = readVariable(processes, 'dashboard', variable);
    if (value === null) throw new Error(`the dashboard process has no ${variable}`);
    return value;
  };
  const url = `http://127.0.0.1:${read('GATEWAY_OPERATOR_PORT')}/operator/v1`;
  const token = read('GATEWAY_OPERATOR_TOKEN');
  return async <T>(method: string, path: string, body: object): Promise<T> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text) as T;
  };
}

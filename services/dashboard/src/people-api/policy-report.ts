import { counter } from '@gateway/service-kit';
import type { Request, Response } from 'express';
import { readBody } from '../http/read-body.js';
import { sendResponse } from '../http/send-answer.js';
import type { PagesContext } from './route.js';

/** Larger than usual, because browsers include the policy and the page. */
const REPORT_BOUNDS = { bytesMax: 16 * 1024, msMax: 5_000 };
const TEXT_CHARS_MAX = 200;
/** Most reports that are logged per minute. Unauthenticated clients can send them. */
const LOGGED_MAX = 20;
const LOGGED_WINDOW_MS = 60_000;

/** Receives reports of policy violations. Logs only the directive and the blocked URL. */
export function createPolicyReports({ log, clock }: Pick<PagesContext, 'log' | 'clock'>) {
  const reports = counter('gateway_dashboard_csp_reports_total', 'Reports of violated content security policies');
  let logged = { since: 0, count: 0 };
  return async (request: Request, response: Response): Promise<void> => {
    const read = await readBody(request, REPORT_BOUNDS);
    if (read === 'aborted') return;
    reports.add();
    const now = clock.nowMs();
    if (now - logged.since >= LOGGED_WINDOW_MS) logged = { since: now, count: 0 };
    logged = { ...logged, count: logged.count + 1 };
    if (typeof read !== 'string' && logged.count <= LOGGED_MAX)
      log.warn(factsOf(read.bytes), 'a page violated its content security policy');
    sendResponse(request, response, 204, undefined);
  };
}

function factsOf(bytes: Buffer): object {
  const report = fieldOf(parse(bytes), 'csp-report');
  const text = (name: string): string | null => {
    const value = fieldOf(report, name);
    return typeof value === 'string' ? value.slice(0, TEXT_CHARS_MAX) : null;
  };
  return { directive: text('effective-directive') ?? text('violated-directive'), blocked: text('blocked-uri') };
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown;
  } catch {
    return null;
  }
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

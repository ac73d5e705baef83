import type { ErrorContext } from '@gateway/contracts/errors';
import type { GatewayConfig } from '@gateway/contracts/public';
import { writeJson } from '../call/write-error.js';
import type { ClientRequest } from '../ports.js';

/**
 * GET /api/gateway/config: public; the addresses are configured and never taken from a Host header.
 */
export async function showConfig(errors: ErrorContext, request: ClientRequest): Promise<void> {
  const config: GatewayConfig = { chatBaseUrl: errors.chatBaseUrl, messagesBaseUrl: errors.messagesBaseUrl };
  writeJson(request.answer, 200, JSON.stringify(config));
}

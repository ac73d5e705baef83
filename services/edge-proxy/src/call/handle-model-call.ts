import { NO_SPAN } from '@gateway/service-kit';
import type { EndpointSpec } from '../formats/endpoints.js';
import type { ClientRequest } from '../ports.js';
import { type AdmitParts, admitCall } from './admit/admit-call.js';
import { type AttemptSourcesParts, attemptSources } from './attempt/attempt-sources.js';
import { type FinishParts, finishCall } from './finish/finish-call.js';
import { type ReceiveParts, endCallSpan, receiveCall } from './receive.js';
import { refuse } from './respond.js';

/** Parts of the steps of a call. */
export type CallParts = ReceiveParts & AdmitParts & AttemptSourcesParts & FinishParts;

/**
 * Handles one call from its head to its last chunk, in six steps. An admitted call is always
 * finished.
 * 1. `receive`: key and load.
 * 2. `admit`: body, and admission.
 * 3. `attempt`: the sources, one after the other.
 * 4. `relay`: the response of a source, while the attempt runs.
 * 5. `finish`: usage event and release, then
 * 6. `respond`: the last chunk, or an error.
 */
export async function handleModelCall(parts: CallParts, row: EndpointSpec, request: ClientRequest): Promise<void> {
  const call = receiveCall(parts, row, request);
  if ('code' in call) return refuse(parts, row, request, call);
  let status: number | null = null;
  try {
    const admission = await admitCall(parts, call);
    if (admission.kind === 'gone') return parts.metrics.callEnded(row.path, null);
    if (admission.kind === 'error') {
      status = admission.error.status;
      return refuse(parts, row, request, admission.error);
    }
    const result = await attemptSources(parts, admission.call);
    status = await finishCall(parts, admission.call, result);
  } finally {
    if (call.span !== NO_SPAN) endCallSpan(call.span, status);
  }
}

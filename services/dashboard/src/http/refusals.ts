import { OPERATOR_ERRORS, refuse, type ManagementRefusal } from '@gateway/contracts/operator';
import { z } from 'zod';

/** The body of every answer that is not a success. */
export const operatorError = z.object({
  error: z.object({
    code: z.enum(Object.keys(OPERATOR_ERRORS)),
    message: z.string(),
    /** The field, parameter or header that is at fault. */
    param: z.string().nullable(),
    /** Also in the header `x-gateway-request-id`, and in the log. */
    request_id: z.string(),
  }),
});

/** Refused at this moment: sent with `Retry-After`. */
export interface LaterRefusal extends ManagementRefusal {
  readonly retryAfterSeconds: number;
}

/** There is no room for the request now. */
export function refuseForNow(message = 'too many requests are being answered; try again shortly'): LaterRefusal {
  return { ...refuse('dependency_unavailable', message), retryAfterSeconds: 1 };
}

export const REQUEST_ID_HEADER = 'x-gateway-request-id';

export function errorBody(
  { refused, beside }: ManagementRefusal & { readonly beside?: object },
  requestId: string,
): z.input<typeof operatorError> {
  return { error: { ...refused, request_id: requestId }, ...beside };
}

/** As bytes, for a connection that holds no readable request. */
export function brokenRequestAnswer(requestId: string): string {
  const body = JSON.stringify(
    errorBody(refuse('invalid_request', 'this is no HTTP request that can be read'), requestId),
  );
  const head = [
    'HTTP/1.1 400 Bad Request',
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `${REQUEST_ID_HEADER}: ${requestId}`,
    'cache-control: no-store',
    'connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

import { modelId, objectId, requestId } from '@gateway/contracts/messages';
import { instant, pageQuery } from '@gateway/contracts/operator';
import { z } from 'zod';

export const byId = z.object({ id: objectId });
/** Both halves of a model's id, joined. */
export const byModelId = z.object({ modelId });
export const byRequestId = z.object({ requestId });
export const byMember = z.object({ id: objectId, memberId: objectId });

/** Of flags in a query. */
export const flag = z.enum(['true', 'false']).default('false');

/** What the services take as a page. */
export function pageOfQuery({ cursor, limit }: z.output<typeof pageQuery>): { cursor: string | null; limit: number } {
  return { cursor: cursor ?? null, limit };
}

/** Epoch milliseconds of a time in a query; null: not stated. */
export function epochOf(text: string | undefined): number | null {
  return text === undefined ? null : Date.parse(text);
}

export { instant, modelId, objectId, pageQuery };

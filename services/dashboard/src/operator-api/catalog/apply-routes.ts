import { applyAnswer, applyDocument } from '@gateway/contracts/operator';
import { z } from 'zod';
import { applyObjects } from './apply.js';
import { route } from '../route.js';
import { flag } from '../parameters.js';

export const APPLY_ROUTES = [
  route({
    id: 'apply',
    method: 'POST',
    path: '/apply',
    summary: 'Makes the stored providers, models, sources and plans what the document says; deletes only with prune',
    access: 'catalog',
    query: z.object({ dryRun: flag, prune: flag }),
    body: applyDocument,
    bodyForm: 'document',
    answers: { 200: applyAnswer },
    refusals: ['in_use', 'state_conflict', 'not_in_force'],
    handle: ({ door, query, body, actor, may }) =>
      applyObjects(door, body, { dryRun: query.dryRun === 'true', prune: query.prune === 'true', actor, may }),
  }),
];

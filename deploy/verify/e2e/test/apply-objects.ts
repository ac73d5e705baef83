import type { ApplyAnswer } from '@gateway/contracts/operator';
import type { TestOperator } from './operator.js';

/** Of one document: it and what is made of it are messages of the bus. */
const OBJECTS_MAX = 90;

/** Puts these objects in their order, and resolves when they are in force everywhere. */
export async function applyObjects(operator: TestOperator, objects: readonly object[]): Promise<void> {
  for (let from = 0; from < objects.length; from += OBJECTS_MAX) {
    const some = objects.slice(from, from + OBJECTS_MAX);
    const { inForce } = await operator.must<ApplyAnswer>('POST', '/apply', { objects: some });
    // The same again changes nothing; its answer waits once more.
    if (!inForce) await operator.must('POST', '/apply', { objects: some });
  }
}

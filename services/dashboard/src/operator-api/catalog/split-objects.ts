import { providerCredentialPlace } from '@gateway/contracts/messages';
import { aliasSpec, isRefusal, modelSpec, planSpec, providerSpec, sourceSpec } from '@gateway/contracts/operator';
import type { ApplyDocument, CatalogObject, ManagementRefusal, PlanSpec } from '@gateway/contracts/operator';
import type { Secrets } from '../../secrets.js';
import type { PermissionCheck } from '../access.js';
import { toSpec } from '../parameters.js';
import { sealCredential } from './seal-credential.js';

/** The objects of a document by the service that stores them, each with its index. */
export interface SplitObjects {
  readonly catalog: CatalogObject[];
  readonly catalogPlaces: number[];
  readonly plans: { id: string; spec: PlanSpec }[];
  readonly planPlaces: number[];
}

/** Splits a document and seals its credentials. Refuses an unreadable credential. */
export function splitObjects(
  secrets: Secrets,
  { objects }: ApplyDocument,
  may: PermissionCheck,
): SplitObjects | ManagementRefusal {
  const split: SplitObjects = { catalog: [], catalogPlaces: [], plans: [], planPlaces: [] };
  for (const [place, object] of objects.entries()) {
    if (object.kind === 'plan') {
      split.plans.push({ id: object.id, spec: toSpec(planSpec, object.spec) });
      split.planPlaces.push(place);
      continue;
    }
    const travelling = toCatalogObject(secrets, object, place, may);
    if (isRefusal(travelling)) return travelling;
    split.catalog.push(travelling);
    split.catalogPlaces.push(place);
  }
  return split;
}

/** Converts the path in a service's refusal to the path in the document. */
export function toDocumentPath({ refused }: ManagementRefusal, places: readonly number[]): ManagementRefusal {
  const [, index = '', rest = ''] = /^(?:objects|plans)\[(\d+)\](.*)$/.exec(refused.param ?? '') ?? [];
  const place = places[Number(index)];
  if (index === '' || place === undefined) return { refused };
  return { refused: { ...refused, param: `objects[${place}]${rest}` } };
}

type GivenObject = Exclude<ApplyDocument['objects'][number], { kind: 'plan' }>;

function toCatalogObject(
  secrets: Secrets,
  object: GivenObject,
  place: number,
  may: PermissionCheck,
): CatalogObject | ManagementRefusal {
  const { id } = object;
  const param = `objects[${place}].spec.credential`;
  switch (object.kind) {
    case 'provider': {
      const sealedFor = providerCredentialPlace(id);
      const sealed = sealCredential(secrets, sealedFor, object.spec.credential, param, may);
      if (isRefusal(sealed)) return sealed;
      return { kind: 'provider', id, spec: toSpec(providerSpec, object.spec), ...sealed };
    }
    case 'model':
      return { kind: 'model', id, spec: toSpec(modelSpec, object.spec) };
    case 'alias':
      return { kind: 'alias', id, spec: toSpec(aliasSpec, object.spec) };
    case 'source': {
      const sealed = sealCredential(secrets, id, object.spec.credential, param, may);
      if (isRefusal(sealed)) return sealed;
      return { kind: 'source', id, spec: toSpec(sourceSpec, object.spec), ...sealed };
    }
  }
}

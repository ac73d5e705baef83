import type { OperatorRoute } from './route.js';

export type Link = { readonly operationId: string; readonly parameters: Record<string, string> };

/**
 * Returns the OpenAPI links to the operations on an object that a route created or changed. A POST
 * whose response has an `id` links to the operations on that object and to the objects below it
 * (`/accounts` links to `/accounts/{id}` and to POST `/accounts/{id}/keys`, which links to
 * `/keys/{id}`). A PUT links to the other operations on its path and below.
 */
export function buildLinks(route: OperatorRoute, routes: readonly OperatorRoute[]): Record<string, Link> {
  const others = routes.filter(({ id }) => id !== route.id);
  if (route.method === 'PUT')
    return linksTo(
      others.filter(({ path }) => isBelow(path, route.path)),
      route.path,
      null,
    );
  if (route.method !== 'POST' || !('201' in route.answers)) return {};
  const collection = `/${route.path.split('/').at(-1) ?? ''}/{`;
  const onIt = others.filter(
    ({ method, path }) =>
      (path.startsWith(`${route.path}/{`) || path.startsWith(collection)) &&
      parametersOf(path).length === (path.startsWith(route.path) ? parametersOf(route.path).length : 0) + 1 &&
      (path.endsWith('}') || method === 'POST' || method === 'PUT'),
  );
  return linksTo(onIt, route.path, '$response.body#/id');
}

function linksTo(routes: readonly OperatorRoute[], from: string, made: string | null): Record<string, Link> {
  return Object.fromEntries(
    routes.map(({ id, path }) => {
      const known = new Set(path.startsWith(from) ? parametersOf(from) : []);
      const unknown = parametersOf(path).filter((name) => !known.has(name));
      const parameters = {
        ...Object.fromEntries([...known].map((name) => [name, `$request.path.${name}`])),
        ...Object.fromEntries(made === null ? [] : unknown.map((name) => [name, made])),
      };
      return [id, { operationId: id, parameters }];
    }),
  );
}

function isBelow(path: string, above: string): boolean {
  return path === above || (path.startsWith(`${above}/`) && parametersOf(path).length === parametersOf(above).length);
}

function parametersOf(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
}

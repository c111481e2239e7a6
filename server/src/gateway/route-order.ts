import type { Route } from "../catalog/catalog.ts";

/** A route of a request, and whether the request was sent to it before. */
interface TrialRoute extends Route {
  readonly isRetry?: boolean;
}

/** Shuffles routes so that each comes first as often as its weight says. */
export function shuffleByWeight(routes: readonly Route[], random: () => number): readonly TrialRoute[] {
  if (routes.length === 1) return routes;
  const left = [...routes];
  const ordered: Route[] = [];
  while (left.length > 0) {
    const total = left.reduce((sum, route) => sum + route.weight, 0);
    let ticket = random() * total;
    const drawn = left.findIndex((route) => {
      ticket -= route.weight;
      return ticket < 0;
    });
    ordered.push(...left.splice(Math.max(0, drawn), 1));
  }
  return ordered;
}

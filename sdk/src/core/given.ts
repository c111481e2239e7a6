/** Removes fields that are `undefined`, because the service refuses unknown fields. */
export function given<Params extends object>(params: Params): Partial<Params> {
  return Object.fromEntries(
    Object.entries(params).filter(([, value]) => value !== undefined),
  ) as Partial<Params>;
}

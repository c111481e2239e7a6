/** Without what was passed as `undefined`: the service takes no fields that it does not know. */
export function given<Params extends object>(params: Params): Partial<Params> {
  return Object.fromEntries(
    Object.entries(params).filter(([, value]) => value !== undefined),
  ) as Partial<Params>;
}

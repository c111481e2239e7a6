/**
 * The coding to answer in (RFC 9110, section 12.5.3): of those on offer the one that the client weighs most, the first of
 * several.
 *
 * @returns `null` if none is acceptable. The answer is then sent uncompressed.
 */
export function chooseCoding<Coding extends string>(
  acceptEncoding: string,
  offered: readonly Coding[],
): Coding | null {
  const weights = weightsOf(acceptEncoding);
  const weightOf = (coding: string) => weights.get(coding) ?? weights.get("*") ?? 0;
  const asItIs = weightOf("identity");
  let chosen: Coding | null = null;
  for (const coding of offered) {
    const weight = weightOf(coding);
    const isBetter = chosen === null ? weight >= asItIs : weight > weightOf(chosen);
    if (weight > 0 && isBetter) chosen = coding;
  }
  return chosen;
}

function weightsOf(acceptEncoding: string): ReadonlyMap<string, number> {
  return new Map(
    acceptEncoding.split(",").map((part) => {
      const [coding = "", ...parameters] = part.trim().toLowerCase().split(";");
      const weight = parameters.map((parameter) => /^\s*q=([\d.]+)\s*$/.exec(parameter)?.[1]).find(Boolean);
      return [coding.trim(), weight === undefined ? 1 : Number(weight)] as const;
    }),
  );
}

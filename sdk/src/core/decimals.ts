/**
 * A result as the client returns it: integers that exceed what a JavaScript number can hold, such as amounts of nano-USD, are
 * decimal strings. They are exact, and `JSON.stringify` takes them. Use `BigInt(amount)` to calculate.
 */
export type Decimals<Data> = Data extends bigint
  ? string
  : Data extends Date
    ? Date
    : Data extends readonly (infer Item)[]
      ? readonly Decimals<Item>[]
      : Data extends object
        ? { readonly [Name in keyof Data]: Decimals<Data[Name]> }
        : Data;

/** Converts a procedure's output to the form of the client's results. Objects are changed in place. */
export function decimals<Data>(data: Data): Decimals<Data> {
  return converted(data) as Decimals<Data>;
}

function converted(value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  const fields = value as Record<string, unknown>;
  for (const [name, field] of Object.entries(fields)) fields[name] = converted(field);
  return value;
}

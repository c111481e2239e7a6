import * as z from "zod";
import { Failure } from "../errors/failure.ts";
import type { JsonObject } from "../json/json.ts";

/** The schema of an array's elements, and their maximum number. */
export interface ItemSchema {
  readonly schema: z.core.$ZodType;
  readonly max: number;
}

/**
 * A schema of bodies in which most fields are absent. It validates the present fields one by one, which takes a fraction of the
 * time of the whole schema.
 */
export class BodySchema<Shape extends z.ZodRawShape> {
  /** Without refinements or transformations of its own: a body is what its fields are. */
  readonly schema: z.ZodObject<Shape, z.core.$loose>;
  readonly #fields: ReadonlyMap<string, z.core.$ZodType>;
  readonly #items: ReadonlyMap<string, ItemSchema>;
  readonly #required: readonly string[];

  /**
   * `items`: the schemas of long arrays. A schema reports every wrong element, which is expensive. These arrays are validated
   * only up to the first wrong element.
   */
  constructor(shape: Shape, items: { readonly [Name in keyof Shape & string]?: ItemSchema } = {}) {
    this.schema = z.looseObject(shape);
    this.#fields = new Map(Object.entries(shape));
    this.#items = new Map(Object.entries(items as Record<string, ItemSchema>));
    this.#required = [...this.#fields].flatMap(([name, field]) =>
      z.safeParse(field, undefined).success ? [] : [name],
    );
  }

  get names(): readonly string[] {
    return [...this.#fields.keys()];
  }

  /** @throws {Failure} `invalid_request` naming the field. */
  read(body: JsonObject): z.output<z.ZodObject<Shape, z.core.$loose>> {
    for (const [name, items] of this.#items) requireItems(name, body[name], items);
    // The schema changes no value, so the valid body is its own output.
    if (this.#isValid(body)) return body as z.output<z.ZodObject<Shape, z.core.$loose>>;
    const parsed = this.schema.safeParse(body);
    if (parsed.success) return parsed.data;
    throw invalid(parsed.error.issues[0]);
  }

  #isValid(body: JsonObject): boolean {
    if (!this.#required.every((name) => name in body)) return false;
    return Object.keys(body).every((name) => {
      const value = body[name];
      if (this.#items.has(name) && Array.isArray(value) && value.length > 0) return true;
      const field = this.#fields.get(name);
      return field === undefined || z.safeParse(field, value).success;
    });
  }
}

function requireItems(name: string, value: unknown, { schema, max }: ItemSchema): void {
  if (!Array.isArray(value)) return;
  if (value.length > max) {
    throw new Failure("invalid_request", `${name}: must hold at most ${max} elements`, { param: name });
  }
  for (const [index, item] of value.entries()) {
    const parsed = z.safeParse(schema, item);
    if (parsed.success) continue;
    const [issue] = parsed.error.issues;
    throw invalid(issue && { ...issue, path: [name, index, ...issue.path] });
  }
}

function invalid(issue: z.core.$ZodIssue | undefined): Failure {
  const param = issue?.path.join(".") ?? "body";
  return new Failure("invalid_request", `${param}: ${issue?.message ?? "is not valid"}`, { param });
}

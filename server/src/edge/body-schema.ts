import { z } from "zod";
import { Failure } from "../errors/failure.ts";
import type { JsonObject } from "../gateway/json.ts";

/**
 * A schema of bodies of which most fields are mostly absent. Asked for each field that is there it takes a fraction of what the
 * whole takes, which makes a note of each that is not.
 */
export class BodySchema<Shape extends z.ZodRawShape> {
  /** Without refinements or transformations of its own: a body is what its fields are. */
  readonly schema: z.ZodObject<Shape, z.core.$loose>;
  readonly #fields: ReadonlyMap<string, z.core.$ZodType>;
  readonly #required: readonly string[];
  readonly #maxItems: readonly (readonly [string, number])[];

  /**
   * `maxItems`: how many elements arrays may have. Looked at first, since the schema looks at every element and notes what is wrong
   * with each.
   */
  constructor(shape: Shape, maxItems: { readonly [Name in keyof Shape & string]?: number } = {}) {
    this.#maxItems = Object.entries<number>(maxItems as Record<string, number>);
    this.schema = z.looseObject(shape);
    this.#fields = new Map(Object.entries(shape));
    this.#required = [...this.#fields].flatMap(([name, field]) =>
      z.safeParse(field, undefined).success ? [] : [name],
    );
  }

  get names(): readonly string[] {
    return [...this.#fields.keys()];
  }

  /** @throws {Failure} `invalid_request` naming the field. */
  read(body: JsonObject): z.output<z.ZodObject<Shape, z.core.$loose>> {
    this.#requireFewItems(body);
    // Parsed just now: nothing in the schema changes a value.
    if (this.#isValid(body)) return body as z.output<z.ZodObject<Shape, z.core.$loose>>;
    const parsed = this.schema.safeParse(body);
    if (parsed.success) return parsed.data;
    throw invalid(parsed.error);
  }

  #requireFewItems(body: JsonObject): void {
    for (const [name, max] of this.#maxItems) {
      const value = body[name];
      if (!Array.isArray(value) || value.length <= max) continue;
      throw new Failure("invalid_request", `${name}: must hold at most ${max} elements`, { param: name });
    }
  }

  #isValid(body: JsonObject): boolean {
    if (!this.#required.every((name) => name in body)) return false;
    return Object.keys(body).every((name) => {
      const field = this.#fields.get(name);
      return field === undefined || z.safeParse(field, body[name]).success;
    });
  }
}

function invalid(error: z.ZodError): Failure {
  const [issue] = error.issues;
  const param = issue?.path.join(".") ?? "body";
  return new Failure("invalid_request", `${param}: ${issue?.message ?? "is not valid"}`, { param });
}

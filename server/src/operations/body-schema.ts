import * as z from "zod";
import { Failure } from "../errors/failure.ts";
import { messageOf } from "../errors/issue-message.ts";
import type { JsonObject } from "../json/json.ts";
import type { JsonBody } from "../json/json-body.ts";
import { withoutSecrets } from "../secrets/redact.ts";
import { invalid } from "./invalid-field.ts";

/** The schema of an array's elements, and their maximum number. */
interface ItemSchema {
  readonly schema: z.core.$ZodType;
  readonly max: number;
}

interface BodyOptions<Shape> {
  /**
   * The schemas of long arrays. A schema reports every wrong element, which is expensive. These arrays are validated only up to the
   * first wrong element.
   */
  readonly items?: { readonly [Name in keyof Shape & string]?: ItemSchema };
  /** Fields that no body may have, with the reasons: without them the request would mean something else. */
  readonly refused?: Readonly<Record<string, string>>;
}

export const modelName = z
  .string({ error: "must be a string: the id of a model of `GET /v1/models`" })
  .min(1)
  .max(256);

/** Fields by which clients of other gateways route requests. Here only the operator routes them. */
const ROUTING_FIELDS = new Set([
  "api_base",
  "api_key",
  "api_version",
  "base_url",
  "custom_llm_provider",
  "extra_headers",
  "fallbacks",
  "models",
  "provider",
  "route",
  "router",
  "upstream",
]);

/** In lower case, however a server folds it. */
const PLAIN_NAME = /^[a-z0-9_]*$/;

/**
 * Creates a schema of bodies in which most fields are absent. It validates the present fields one by one, which takes a fraction of the
 * time of the whole schema. A `shape` has no refinements or transformations of its own: a body is what its fields are.
 */
export function bodySchema<Shape extends z.ZodRawShape>(shape: Shape, options: BodyOptions<Shape> = {}) {
  const schema = z.looseObject(shape);
  const fields = new Map<string, z.core.$ZodType>(Object.entries(shape));
  const items = new Map(Object.entries((options.items ?? {}) as Readonly<Record<string, ItemSchema>>));
  const refused = Object.entries(options.refused ?? {});
  const required = [...fields].flatMap(([name, field]) =>
    z.safeParse(field, undefined).success ? [] : [name],
  );
  const reliedOn = new Set([...fields.keys(), ...refused.map(([name]) => name)]);
  // Each character that folds to one of ASCII takes two units at most, so a longer name folds to none of these.
  const maxFolded = 2 * Math.max(...[...reliedOn, ...ROUTING_FIELDS].map(({ length }) => length));

  const isValid = (body: JsonObject): boolean => {
    if (!required.every((name) => name in body)) return false;
    return Object.keys(body).every((name) => {
      const value = body[name];
      if (items.has(name) && Array.isArray(value) && value.length > 0) return true;
      const field = fields.get(name);
      return field === undefined || z.safeParse(field, value).success;
    });
  };

  return {
    /** For the OpenAPI document. */
    schema,
    /** @throws {Failure} `invalid_request` naming the field that is not valid, stands twice, or says where the request is to go. */
    read(body: JsonBody): z.output<typeof schema> {
      requirePlainFields(body, reliedOn, maxFolded);
      const { value } = body;
      for (const [name, reason] of refused) {
        if (value[name] !== undefined && value[name] !== null) throw invalid(name, reason);
      }
      for (const [name, item] of items) requireItems(name, value[name], item);
      // The schema changes no value, so the valid body is its own output.
      if (isValid(value)) return value as z.output<typeof schema>;
      const parsed = schema.safeParse(value);
      if (parsed.success) return parsed.data;
      throw invalidBy(parsed.error.issues[0]);
    },
  };
}

/** @param maxFolded The maximum length of a name that may stand for one of `reliedOn`. */
function requirePlainFields(body: JsonBody, reliedOn: ReadonlySet<string>, maxFolded: number): void {
  const doubled = body.doubledName;
  if (doubled !== null) {
    throw new Failure("invalid_request", "The body has this field twice. Send it once.", {
      param: withoutSecrets(doubled).slice(0, 64),
    });
  }
  for (const name of Object.keys(body.value)) {
    // To normalize combining characters takes the square of their number.
    const isPlain = name.length > maxFolded || PLAIN_NAME.test(name);
    const folded = isPlain ? name : name.normalize("NFKC").toLowerCase();
    // Case-insensitive servers would take the field for the one that is checked and charged.
    if (folded !== name && (reliedOn.has(folded) || ROUTING_FIELDS.has(folded))) {
      throw new Failure("invalid_request", `Fields are written in lower case: ${folded}.`, { param: folded });
    }
    if (ROUTING_FIELDS.has(name)) {
      throw invalid(
        name,
        "the operator decides which upstream answers. Remove the field and choose a model.",
      );
    }
  }
}

function requireItems(name: string, value: unknown, { schema, max }: ItemSchema): void {
  if (!Array.isArray(value)) return;
  if (value.length > max) throw invalid(name, `must hold at most ${max} elements`);
  for (const [index, item] of value.entries()) {
    const parsed = z.safeParse(schema, item);
    if (parsed.success) continue;
    const [issue] = parsed.error.issues;
    throw invalidBy(issue && { ...issue, path: [name, index, ...issue.path] });
  }
}

function invalidBy(issue: z.core.$ZodIssue | undefined): Failure {
  return invalid(issue?.path.join(".") ?? "body", issue === undefined ? "is not valid" : messageOf(issue));
}

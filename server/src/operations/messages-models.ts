import type { CatalogModel } from "../catalog/catalog.ts";
import { Failure } from "../errors/failure.ts";
import type { QuerySource } from "./operation.ts";

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 1_000;

/** A page of the models, as Anthropic's clients ask for it. */
export interface MessagesModelsPage {
  readonly limit: number;
  readonly afterId: string | null;
  readonly beforeId: string | null;
}

/** Whether a request for models is one of Anthropic's API, whose clients send its version. */
export function isForMessages({ header }: QuerySource): boolean {
  return header("anthropic-version").length > 0;
}

/** @throws {Failure} `invalid_request` naming the parameter. */
export function readMessagesModelsPage({ query }: QuerySource): MessagesModelsPage {
  const asked = query.get("limit");
  const limit = asked === null ? DEFAULT_LIMIT : Number(asked);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT || asked === "") {
    throw invalid("limit", `must be a whole number from 1 to ${MAX_LIMIT}`);
  }
  const [afterId, beforeId] = [query.get("after_id"), query.get("before_id")];
  if (afterId !== null && beforeId !== null) throw invalid("before_id", "cannot be combined with after_id");
  return { limit, afterId, beforeId };
}

/**
 * A page of the models by all their names. Aliases are models of their own here: some clients offer only names that begin with
 * `claude`, and an alias is how an operator gives a model such a name.
 *
 * @throws {Failure} `invalid_request` for a position that is no model's name.
 */
export function messagesModelsPage(
  models: readonly CatalogModel[],
  { limit, afterId, beforeId }: MessagesModelsPage,
) {
  const all = models.flatMap((model) => [model.id, ...model.aliases].map((id) => messagesModelOf(model, id)));
  const placeOf = (param: string, name: string) => {
    const place = all.findIndex(({ id }) => id === name);
    if (place === -1) throw invalid(param, "must be the id of a model of the list");
    return place;
  };
  const end = beforeId === null ? all.length : placeOf("before_id", beforeId);
  const start =
    beforeId !== null ? Math.max(0, end - limit) : afterId === null ? 0 : placeOf("after_id", afterId) + 1;
  const data = all.slice(start, Math.min(end, start + limit));
  const hasMore = beforeId === null ? start + limit < all.length : start > 0;
  return { data, has_more: hasMore, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
}

/** A model by one of its names. What is shown to people says which model an alias stands for. */
export function messagesModelOf({ id: modelId, created }: CatalogModel, id: string) {
  return {
    type: "model",
    id,
    display_name: modelId,
    created_at: new Date(created * 1_000).toISOString(),
  };
}

function invalid(param: string, reason: string): Failure {
  return new Failure("invalid_request", `${param}: ${reason}`, { param });
}

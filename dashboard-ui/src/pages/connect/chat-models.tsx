import type { ListedModel } from "../../api/types.ts";
import { LearnMore } from "../../components/LearnMore.tsx";
import { Empty } from "../../components/Notice.tsx";

export function chatModelsOf(models: readonly ListedModel[]): readonly ListedModel[] {
  return models.filter(({ modalities }) => modalities.output.includes("text"));
}

/** Shown where a request needs a chat model and the catalog has none. */
export function NoChatModel() {
  return (
    <Empty title="No chat models">
      <p>Ask the operator of the service to connect a provider.</p>
      <LearnMore about="models" />
    </Empty>
  );
}

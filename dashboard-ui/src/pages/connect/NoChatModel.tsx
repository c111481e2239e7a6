import { LearnMore } from "../../components/LearnMore.tsx";
import { Empty } from "../../components/Notice.tsx";

/** Shown where a request needs a chat model and the catalog has none. */
export function NoChatModel() {
  return (
    <Empty title="No chat models">
      <p>Ask the operator of the service to connect a provider.</p>
      <LearnMore about="models" />
    </Empty>
  );
}

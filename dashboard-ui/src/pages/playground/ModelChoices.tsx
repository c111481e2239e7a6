import type { ListedModel } from "../../api/types.ts";
import { Button } from "../../components/Button.tsx";
import type { Chat } from "./chat.ts";
import { type Lane, MAX_LANES } from "./chat-state.ts";
import { findModel } from "./find-model.ts";
import { ModelChoice } from "./ModelChoice.tsx";
import styles from "./ModelChoices.module.css";

interface ModelChoicesProps {
  readonly chat: Chat;
  readonly models: readonly ListedModel[];
  readonly lanes: readonly Lane[];
  /** The first lane's model, and the requested name if there is no such model. */
  readonly first: ListedModel | undefined;
  readonly missing: string | null;
  readonly chooseFirst: (model: ListedModel) => void;
}

/** The choice of the model, or of those to compare. */
export function ModelChoices({ chat, models, lanes, first, missing, chooseFirst }: ModelChoicesProps) {
  const next = models.find(({ id }) => lanes.every((lane) => lane.model !== id)) ?? models[0];
  return (
    <div className={styles.choices}>
      <ModelChoice
        label="Model"
        models={models}
        value={first ?? null}
        missing={missing}
        onChange={chooseFirst}
      />
      {lanes.slice(1).map((lane, index) => (
        <div key={lane.id} className={styles.further}>
          <ModelChoice
            label={`Model ${index + 2}`}
            models={models}
            value={findModel(models, lane.model) ?? null}
            missing={findModel(models, lane.model) === undefined ? lane.model : null}
            onChange={({ id }) => chat.setModel(lane.id, id)}
          />
          <Button aria-label={`Remove model ${index + 2}`} onClick={() => chat.removeLane(lane.id)}>
            Remove
          </Button>
        </div>
      ))}
      {lanes.length < MAX_LANES && next !== undefined ? (
        <div>
          <Button onClick={() => chat.addLane(next.id)}>Compare with another model</Button>
        </div>
      ) : null}
    </div>
  );
}

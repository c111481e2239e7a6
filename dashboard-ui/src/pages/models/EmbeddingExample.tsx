import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import type { ListedModel } from "../../api/types.ts";
import { Button } from "../../components/Button.tsx";
import dialogStyles from "../../components/Dialog.module.css";
import { Dialog } from "../../components/Dialog.tsx";
import { Loaded } from "../../components/Loaded.tsx";
import { Snippets } from "../../components/Snippets.tsx";

interface EmbeddingExampleProps {
  readonly model: ListedModel;
  readonly onClose: () => void;
}

/** An example request for embeddings, which the playground does not support. */
export function EmbeddingExample({ model, onClose }: EmbeddingExampleProps) {
  const info = useQuery(api.service.info.queryOptions());
  return (
    <Dialog title={`Embeddings with ${model.id}`} onDismiss={onClose}>
      <Loaded query={info} what="the example">
        {(service) => (
          <Snippets
            service={service}
            request={{ model: model.id, input: ["The door is open.", "Who opened it?"] }}
          />
        )}
      </Loaded>
      <div className={dialogStyles.dialogActions}>
        <Button look="primary" onClick={onClose}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}

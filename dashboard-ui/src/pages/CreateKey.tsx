import { useMutation, useQuery } from "@tanstack/react-query";
import { useBlocker } from "@tanstack/react-router";
import { type SubmitEvent, useState } from "react";
import { api, client, queryClient } from "../api/client.ts";
import { errorFieldOf, errorTextOf } from "../api/errors.ts";
import { Button } from "../components/Button.tsx";
import { CopyButton } from "../components/CopyButton.tsx";
import { Dialog } from "../components/Dialog.tsx";
import { Field } from "../components/Field.tsx";
import { Notice } from "../components/Notice.tsx";

/** Asks for a name, then shows the key: once, and until the person says that they have it. */
export function CreateKey({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState("");
  // The only place that holds the key string: what a mutation resolves to would stand in a cache too.
  const [created, setCreated] = useState<{ readonly name: string; readonly key: string } | null>(null);
  const create = useMutation({
    mutationFn: async () => setCreated(await client.keys.create.mutate({ name })),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: api.keys.list.queryKey() }),
  });
  if (created !== null) return <CreatedKey name={created.name} keyString={created.key} onClose={onClose} />;

  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    create.mutate();
  };
  const field = errorFieldOf(create.error);
  return (
    <Dialog title="Create API key" onDismiss={create.isPending ? undefined : onClose}>
      <form onSubmit={submit} className="form">
        {create.error !== null && field === null ? (
          <Notice tone="error">{errorTextOf(create.error)}</Notice>
        ) : null}
        <Field
          label="Name"
          hint="Identifies the key in the audit log, such as “production” or “staging”."
          required
          maxLength={64}
          autoComplete="off"
          value={name}
          error={field === null ? undefined : errorTextOf(create.error)}
          onChange={(event) => setName(event.target.value)}
        />
        <div className="dialog-actions">
          <Button onClick={onClose} disabled={create.isPending}>
            Cancel
          </Button>
          <Button type="submit" look="primary" busy={create.isPending}>
            Create key
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

interface CreatedKeyProps {
  readonly name: string;
  readonly keyString: string;
  readonly onClose: () => void;
}

function CreatedKey({ name, keyString, onClose }: CreatedKeyProps) {
  const [stored, setStored] = useState(false);
  const info = useQuery(api.service.info.queryOptions());
  const models = useQuery(api.models.list.queryOptions());
  const model = models.data?.models[0]?.id;
  // Neither a step back nor a session that has ended takes the key away before it is stored.
  useBlocker({ shouldBlockFn: () => !stored, enableBeforeUnload: () => !stored });
  return (
    <Dialog title={`Key “${name}” created`}>
      <p>
        This is the only time that the key is shown. Store it in a secret manager now: a lost key can't be
        recovered, only revoked.
      </p>
      <div className="secret">
        <code data-testid="key-string">{keyString}</code>
      </div>
      <CopyButton text={keyString} what="key" />
      {info.data === undefined || model === undefined ? null : (
        <details className="snippet">
          <summary>Try it with curl</summary>
          <pre>
            <code>{curlFor(info.data.publicUrl, keyString, model)}</code>
          </pre>
          <CopyButton text={curlFor(info.data.publicUrl, keyString, model)} what="command" />
        </details>
      )}
      <label className="check">
        <input type="checkbox" checked={stored} onChange={(event) => setStored(event.target.checked)} />I have
        stored it
      </label>
      <div className="dialog-actions">
        <Button look="primary" disabled={!stored} onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}

function curlFor(url: string, keyString: string, model: string): string {
  const body = JSON.stringify({ model, messages: [{ role: "user", content: "Hello!" }] });
  return [
    `curl ${url}/v1/chat/completions \\`,
    `  -H "Authorization: Bearer ${keyString}" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '${body}'`,
  ].join("\n");
}

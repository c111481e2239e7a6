import { skipToken, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import type { AuditEntry } from "../../api/types.ts";

interface EntryLinkProps {
  readonly entry: AuditEntry;
}

/** The name of an entry's key: a link to the key's page, or for operators, who have none, to the requests of the key. */
export function KeyOfEntry({ entry }: EntryLinkProps) {
  const { account, keyName, keyId } = entry;
  const found = useQuery(
    api.keys.list.queryOptions(account === undefined ? { search: keyId, limit: 20 } : skipToken),
  );
  if (account !== undefined) {
    return (
      <Link to="/operator/log" search={{ accountId: account.id, key: keyId }}>
        {keyName}
      </Link>
    );
  }
  // An entry does not have the id of its key, and key IDs may repeat.
  const key = found.data?.keys.find((each) => each.keyId === keyId && each.name === keyName);
  if (key === undefined) return keyName;
  return (
    <Link to="/settings/keys/$keyId" params={{ keyId: key.id }} search={{ range: "7d", by: "none" }}>
      {keyName}
    </Link>
  );
}

/** The model of an entry: a link to the model's page, or to its place in the operators' catalog. */
export function ModelOfEntry({ entry, model }: EntryLinkProps & { readonly model: string }) {
  const { account, errorCode } = entry;
  // The catalog has no page of a model that it does not have, but the log may have more requests for it.
  if (errorCode === "model_not_found") {
    return account === undefined ? (
      <Link to="/audit" search={{ model }}>
        {model}
      </Link>
    ) : (
      <Link to="/operator/log" search={{ model }}>
        {model}
      </Link>
    );
  }
  return account === undefined ? (
    <Link to="/models/$model" params={{ model }} search={{ range: "7d", by: "none" }}>
      {model}
    </Link>
  ) : (
    <Link to="/operator/catalog" search={{ search: model }}>
      {model}
    </Link>
  );
}

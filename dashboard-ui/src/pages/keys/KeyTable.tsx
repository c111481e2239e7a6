import { Fragment } from "react";
import { formatCount, formatDate, formatDateTime } from "../../api/format.ts";
import type { ListedKey } from "../../api/types.ts";
import { Button } from "../../components/Button.tsx";
import { RotationState } from "./RotationState.tsx";

const COLUMNS = 5;

interface KeyTableProps {
  readonly keys: readonly ListedKey[];
  /** All of the account's, for the names of successors. */
  readonly all: readonly ListedKey[];
  readonly rotate: (key: ListedKey) => void;
  readonly revoke: (key: ListedKey) => void;
}

/** Keys, with who uses them. */
export function KeyTable({ keys, all, rotate, revoke }: KeyTableProps) {
  return (
    <table className="table">
      <caption className="visually-hidden">API keys of the account</caption>
      <thead>
        <tr>
          <th scope="col">Key</th>
          <th scope="col">State</th>
          <th scope="col">Last use</th>
          <th scope="col">Requests in the last</th>
          <th scope="col">
            <span className="visually-hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {keys.map((key) => (
          <Fragment key={key.id}>
            <KeyRow
              apiKey={key}
              replaced={all.find(({ id, state }) => id === key.replaces && state === "active")}
              rotate={() => rotate(key)}
              revoke={() => revoke(key)}
            />
            {key.rotation === null || key.state === "revoked" ? null : (
              <tr className="below">
                <td colSpan={COLUMNS}>
                  <RotationState
                    apiKey={key}
                    successor={all.find(({ id }) => id === key.rotation?.successorId)}
                    revoke={() => revoke(key)}
                  />
                </td>
              </tr>
            )}
          </Fragment>
        ))}
      </tbody>
    </table>
  );
}

interface KeyRowProps {
  readonly apiKey: ListedKey;
  /** The key that it takes over from, as long as that one works. */
  readonly replaced: ListedKey | undefined;
  readonly rotate: () => void;
  readonly revoke: () => void;
}

function KeyRow({ apiKey, replaced, rotate, revoke }: KeyRowProps) {
  const isActive = apiKey.state === "active";
  return (
    <tr className={isActive ? undefined : "faded"}>
      <th scope="row" className="name">
        <span className="pair">
          {apiKey.name}
          <span className="small">
            <code>…{apiKey.keyId}</code>
            {replaced === undefined ? null : ` takes over from “${replaced.name}”`}
          </span>
        </span>
      </th>
      <td data-label="State">
        <span className="pair">
          <span className={`badge badge-${apiKey.state}`}>{apiKey.state}</span>
          <span className="small">
            {apiKey.revokedAt === null
              ? `created ${formatDate(apiKey.createdAt)}`
              : formatDate(apiKey.revokedAt)}
          </span>
        </span>
      </td>
      <td data-label="Last use">
        <LastUse usage={apiKey.usage} />
      </td>
      <td data-label="Requests in the last">
        <Requests usage={apiKey.usage} />
      </td>
      <td className="actions">
        {isActive && apiKey.rotation === null ? (
          <Button aria-label={`Rotate ${apiKey.name}`} onClick={rotate}>
            Rotate
          </Button>
        ) : null}
        {/* A key that nobody uses any more has its button beside the words that say so. */}
        {isActive && apiKey.rotation?.isQuiet !== true ? (
          <Button aria-label={`Revoke ${apiKey.name}`} onClick={revoke}>
            Revoke
          </Button>
        ) : null}
      </td>
    </tr>
  );
}

function LastUse({ usage }: Pick<ListedKey, "usage">) {
  if (usage.lastUsedAt === null) return <span className="quiet">never</span>;
  return (
    <span className="pair">
      <time dateTime={usage.lastUsedAt.toISOString()}>{formatDateTime(usage.lastUsedAt)}</time>
      <span className="small">
        from <code>{usage.lastUsedIp ?? "an unknown address"}</code>
        {usage.addresses > 1 ? `, one of ${formatCount(usage.addresses)} addresses` : null}
      </span>
    </span>
  );
}

function Requests({ usage }: Pick<ListedKey, "usage">) {
  return (
    <dl className="counts">
      <Count name="minute" value={usage.requestsLastMinute} />
      <Count name="hour" value={usage.requestsLastHour} />
      <Count name="day" value={usage.requestsLastDay} />
    </dl>
  );
}

function Count({ name, value }: { readonly name: string; readonly value: number }) {
  return (
    <div className={value === 0 ? "quiet" : undefined}>
      <dt>{name}</dt>
      <dd>{formatCount(value)}</dd>
    </div>
  );
}

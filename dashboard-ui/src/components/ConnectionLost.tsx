import { useSyncExternalStore } from "react";
import { connection } from "../api/connection.ts";

/** One line while the service can't be reached; it goes by itself. */
export function ConnectionLost() {
  const isLost = useSyncExternalStore(connection.subscribe, connection.isLost);
  return (
    <div className="connection" role="status">
      {isLost ? (
        <p>
          <span className="spinner" aria-hidden="true" /> Connection lost. Reconnecting…
        </p>
      ) : null}
    </div>
  );
}

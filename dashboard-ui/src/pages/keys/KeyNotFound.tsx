import { Link } from "@tanstack/react-router";
import { Empty } from "../../components/Notice.tsx";

/** The page of a key that the account does not have. */
export function KeyNotFound() {
  return (
    <Empty title="Key not found" art="search">
      <p>
        <Link to="/settings/keys">Go to the API keys</Link>
      </p>
    </Empty>
  );
}

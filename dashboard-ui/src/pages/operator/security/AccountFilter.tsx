import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api } from "../../../api/client.ts";
import { Button } from "../../../components/Button.tsx";
import textStyles from "../../../components/text.module.css";
import styles from "./AccountFilter.module.css";

interface AccountFilterProps {
  readonly accountId: string;
  readonly onClear: () => void;
}

/** A note that the list is limited to one account, with a button that clears the filter. */
export function AccountFilter({ accountId, onClear }: AccountFilterProps) {
  const account = useQuery(api.operator.accounts.get.queryOptions({ id: accountId }));
  return (
    <div className={styles.accountFilter}>
      <p>
        <span className={textStyles.quiet}>Account:</span>{" "}
        <Link to="/operator/accounts/$accountId" params={{ accountId }}>
          <bdi>{account.data?.name ?? accountId}</bdi>
        </Link>
      </p>
      <Button onClick={onClear}>Show all accounts</Button>
    </div>
  );
}

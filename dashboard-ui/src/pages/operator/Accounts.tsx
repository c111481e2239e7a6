import { PageHead } from "../../components/PageHead.tsx";

export function Accounts() {
  return <PageHead title="Accounts" />;
}

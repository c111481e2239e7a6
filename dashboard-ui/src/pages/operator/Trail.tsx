import { PageHead } from "../../components/PageHead.tsx";

export function Trail() {
  return <PageHead title="Audit trail" />;
}

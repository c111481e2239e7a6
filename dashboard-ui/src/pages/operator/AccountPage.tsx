import { PageHead } from "../../components/PageHead.tsx";

export function AccountPage() {
  return <PageHead title="Account" />;
}

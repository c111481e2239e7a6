import { PageHead } from "../../components/PageHead.tsx";

export function Security() {
  return <PageHead title="Security" />;
}
